//! The command line of pagesize.

use std::path::PathBuf;

use clap::{ArgAction, Parser, ValueHint};

const LONG_ABOUT: &str = "\
Shows page sizes in bytes, one per line, smallest first. Without an option, \
shows only the size of base pages.";

const AFTER_HELP: &str = "\
Examples:
  pagesize                 the size of base pages
  pagesize --all           all page sizes
  pagesize --huge-only     the sizes of huge pages

Exit status: 0 done, 1 failed, 2 usage error.";

/// The parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "pagesize",
    version,
    about = "Show the page sizes of this machine",
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    override_usage = "pagesize [OPTIONS]",
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Args {
    /// Show the sizes of base pages and huge pages
    #[arg(long, short = 'a', help_heading = "Show")]
    pub all: bool,

    /// Show only the sizes of huge pages, even with --all
    // As in libhugetlbfs, --h is short for this, not for --help.
    #[arg(long, short = 'H', alias = "h", help_heading = "Show")]
    pub huge_only: bool,

    /// Print the result as one JSON document
    #[arg(long, help_heading = "How")]
    pub json: bool,

    /// Read a recorded /proc and /sys below DIR instead of this machine's
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "How")]
    pub sysroot: Option<PathBuf>,

    /// Print help
    #[arg(long, short = 'h', action = ArgAction::HelpLong, help_heading = "How")]
    help: Option<bool>,

    /// Print the version
    #[arg(long, action = ArgAction::Version, help_heading = "How")]
    version: Option<bool>,
}
