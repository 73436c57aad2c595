//! What can be typed after `carom completions` and `carom man`.

use clap::Args;

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ManArgs {
    /// The command whose page to print
    pub command: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}
