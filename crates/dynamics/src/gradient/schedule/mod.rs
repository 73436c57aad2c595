//! Which maps a substep's derivative is made of, and in which order they run.
//!
//! `program` is the list of small maps and what runs it; `substep` walks the stages and hands each to the schedule that fits: `linkage` for bodies
//! that joints alone hold, `patch` for what contacts alone hold, `flight` for what flies in the plane, `mean` for the scheme `energy-momentum`, and
//! `hold`, `finish`, `impact` with `law` and `arrival` for all else.

pub(crate) mod arrival;
pub(crate) mod finish;
pub(crate) mod flight;
pub(crate) mod hold;
pub(crate) mod impact;
pub(crate) mod law;
pub(crate) mod linkage;
pub(crate) mod mean;
pub(crate) mod patch;
pub(crate) mod program;
pub(crate) mod stage;
pub(crate) mod substep;
