//! Impact laws, through the whole step: what each of them promises on cradles, breaks, wedges, oblique bounces and struck mechanisms.
//!
//! `docs/impact-laws.md` names these tests beside every property it states.

mod agreement;
mod bounce;
mod choices;
mod collapse;
mod compressions;
mod confined;
mod cradle;
mod energy;
mod laws;
mod mechanism;
mod rack;
mod reference;
mod wedge;
