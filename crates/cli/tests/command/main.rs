//! The command as people and scripts meet it.

mod documents;
mod films;
mod folder;
mod gradients;
mod models;
mod newcomer;
mod outputs;
mod reproduce;
mod runs;
#[cfg(target_os = "linux")]
mod stopped;
mod validate;
