//! Verbosity and destination of messages.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueHint};

/// The options of verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
#[group(skip)]
pub struct Verbosity {
    /// Print more: findings and decisions
    #[arg(short = 'v', action = ArgAction::Count)]
    louder: u8,

    /// Print less
    #[arg(short = 'q', action = ArgAction::Count)]
    quieter: u8,

    /// 0 none, 1 errors, 2 warnings, 3 as -v, 4 all
    ///
    /// The default is 2. 99 sets the library's own debugging, too.
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=99),
        // The abbreviations are otherwise ambiguous with --version.
        aliases = ["v", "ve", "ver"],
    )]
    verbose: Option<u8>,
}

impl Verbosity {
    /// Returns the verbosity; `inherited` is that of the environment.
    pub fn over(self, inherited: u8) -> u8 {
        let start = self.verbose.unwrap_or(inherited);
        let louder = start.saturating_add(self.louder);
        louder.saturating_sub(self.quieter).min(99)
    }
}

/// Verbosity and destination of messages.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Messages")]
pub struct Messages {
    /// The verbosity.
    #[command(flatten)]
    pub verbosity: Verbosity,

    /// Send messages there, not to stderr
    ///
    /// Includes messages of the libraries in all children. FILE is appended to; FD is an open
    /// descriptor.
    #[arg(long, value_name = "FILE|FD", value_hint = ValueHint::FilePath)]
    pub(crate) messages: Option<OsString>,

    /// Print this help
    #[arg(long, short, action = ArgAction::HelpShort)]
    help: Option<bool>,

    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
}
