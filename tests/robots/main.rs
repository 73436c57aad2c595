//! Robots: rotors on joints, against the reduced equations and closed forms.

mod reduced;
mod rotors;
