//! Derivatives of the step against central differences, closed forms and the transpose identity.

mod boundary;
mod bricks;
mod choices;
mod closed_forms;
mod combine;
mod drag;
mod energy_momentum;
mod hubs;
mod jacobian;
mod linearise;
mod locked;
mod names;
mod rack;
mod random_scenes;
mod rolling;
mod round_numbers;
mod scenes;
mod screw;
mod situations;
mod stepped;
mod tapes;
mod weak;
