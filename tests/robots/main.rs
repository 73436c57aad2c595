//! Robots: rotors and servos on joints, against the reduced equations and closed forms.

mod reduced;
mod rotors;
mod servos;
