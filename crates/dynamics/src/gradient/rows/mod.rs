//! Derivatives of what rows between bodies do: contacts, friction, joints, couplings and rotors, theory (17.10)-(17.17).

pub(crate) mod contact_point;
pub(crate) mod contact_rows;
pub(crate) mod contact_site;
pub(crate) mod friction_mode;
pub(crate) mod friction_rows;
pub(crate) mod joint_rows;
pub(crate) mod moment_rows;
pub(crate) mod rate_row;
pub(crate) mod rotor;
pub(crate) mod sensor;
pub(crate) mod smoothed_rows;
pub(crate) mod tie;
