//! How much is said, and where.

use std::ffi::OsString;

use clap::{ArgAction, Args, ValueHint};

use super::given::ANY;

/// How much is said, and where.
#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
pub struct Say {
    /// Say more: what was found and decided
    #[arg(
        short = 'v', action = ArgAction::Append,
        num_args = 0, default_missing_value = "",
    )]
    pub louder: Vec<String>,

    /// Say less
    #[arg(
        short = 'q', action = ArgAction::Append,
        num_args = 0, default_missing_value = "",
    )]
    pub quieter: Vec<String>,

    /// Say as much as N tells: 0 nothing, 1 errors, 2 warnings (the default),
    /// 3 what was found and decided, 4 all; 99 for the program's library, too
    #[arg(
        long, group = ANY, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=99),
        // What was unambiguous before there was --version stays so.
        aliases = ["v", "ve", "ver"],
    )]
    pub verbose: Option<u8>,

    /// Keep messages, also those of the libraries in all that the program starts,
    /// off standard error: append them to FILE, or write them to a descriptor that
    /// is open
    #[arg(long, value_name = "FILE|FD", value_hint = ValueHint::FilePath)]
    pub messages: Option<OsString>,

    /// Print this help
    #[arg(long, short, action = ArgAction::Help)]
    help: Option<bool>,

    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
}
