//! Verbosity and destination of messages.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueHint};

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "Messages")]
pub(crate) struct Messages {
    /// Print more: findings and decisions
    #[arg(
        short = 'v', action = ArgAction::Append,
        num_args = 0, default_missing_value = "",
    )]
    pub(crate) louder: Vec<String>,

    /// Print less
    #[arg(
        short = 'q', action = ArgAction::Append,
        num_args = 0, default_missing_value = "",
    )]
    pub(crate) quieter: Vec<String>,

    /// 0 none, 1 errors, 2 warnings, 3 as -v, 4 all
    ///
    /// The default is 2. 99 sets the library's own debugging, too.
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=99),
        // Otherwise ambiguous with --version.
        aliases = ["v", "ve", "ver"],
    )]
    pub(crate) verbose: Option<u8>,

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
