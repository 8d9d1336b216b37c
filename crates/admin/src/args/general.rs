//! Options that apply to the whole run.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueHint};

/// Options that apply to the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "General")]
pub struct General {
    /// Print the equivalent shell commands and change nothing
    ///
    /// Needs no privilege. The printed commands have the same effect in sh.
    #[arg(long, short = 'd')]
    pub dry_run: bool,

    /// Set the verbosity: 0 nothing, 1 errors, 2 warnings (default), 3 every
    /// change, 4 all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=99))]
    pub verbose: Option<u8>,

    /// Raise the verbosity by one
    #[arg(short = 'v', action = ArgAction::Count)]
    pub more: u8,

    /// Print the result as one JSON document
    #[arg(long)]
    pub json: bool,

    /// Work on a recorded /proc and /sys below DIR instead of this machine
    ///
    /// Nothing outside DIR is touched. Files and directories below DIR are changed.
    /// Mounts, owners and swap are skipped, reported as such and count as success.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub sysroot: Option<PathBuf>,

    /// Print help: -h in short, --help in full
    #[arg(long, short = 'h', action = ArgAction::Help)]
    help: Option<bool>,

    /// Print the version
    #[arg(long, action = ArgAction::Version)]
    version: Option<bool>,
}
