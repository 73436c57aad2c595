//! Scenes as they are read, written and refused.

mod builder;
mod meaning;
mod messages;
mod mutations;
mod reference;
mod scenes;
