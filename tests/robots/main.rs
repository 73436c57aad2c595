//! Robots: rotors and servos on joints, couplings of joints, against the reduced equations and closed forms.

mod couplings;
mod held;
mod machines;
mod reduced;
mod rotors;
mod servos;
mod tendons;
