//! What must not change: bodies at rest, closed loops, momentum, the balance of energy, bits.

mod determinism;
mod economy;
mod everyday;
mod interrupted;
mod joints;
mod ledger;
mod momentum;
mod piles;
mod random_scenes;
mod resting;
mod size;
mod two_roads;
