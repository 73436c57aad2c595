//! Scenes as they are read, written and refused.

mod meaning;
mod messages;
mod mutations;
mod reference;
mod scenes;
