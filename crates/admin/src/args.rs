//! The command line of hugeadm, as clap reads it. Names are libhugetlbfs';
//! nothing is decided here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory, Parser, ValueHint};

use crate::abbrev;

const LONG_ABOUT: &str = "\
Shows and changes the huge page pools of this machine, mounts hugetlbfs, and \
lets a group use huge pages for shared memory.

Every change is checked before anything is done, and read back afterwards: a \
request ends as done, as less than asked with the figure, or as an error.";

const AFTER_HELP: &str = "\
A pool SPEC is SIZE[@NODES]:[+|-]AMOUNT.
  SIZE    DEFAULT, or a page size of this machine: 2MB, 1GB (see --page-sizes-all)
  NODES   memory nodes as the kernel lists them: 0, 0-3, 0,2; the amount is for each
  AMOUNT  a number of pages, a size (2048MB, 8G), or a share of the memory (10%);
          with + or - it is added to the pool or taken from it

Examples:
  hugeadm --pool-list                          show the pools
  hugeadm --pool-pages-min DEFAULT:2048MB      2 GiB of pages of the default size
  hugeadm --pool-pages-min 2MB:+16             16 pages more
  hugeadm --pool-pages-min 2MB@0-1:64          64 pages on node 0 and 64 on node 1
  hugeadm --pool-pages-max DEFAULT:10%         let the pool grow on demand to 10% of memory
  hugeadm --dry-run --pool-pages-min 1GB:2     print the commands, change nothing
  hugeadm --create-global-mounts               mount hugetlbfs for everybody
  hugeadm --set-shm-group postgres             let a group's members use SHM_HUGETLB

Exit status: 0 done, 1 failed, 2 usage error, 3 less than asked.";

/// What was written on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "hugeadm",
    version,
    about = "Administer huge page pools and hugetlbfs mounts",
    long_about = LONG_ABOUT,
    after_help = AFTER_HELP,
    override_usage = "hugeadm [OPTIONS]",
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Args {
    /// Show all pools: page size, minimum, current and maximum pages
    ///
    /// The minimum are the pages that the pool keeps; above it, up to the
    /// maximum, the kernel makes pages on demand and gives them back. An
    /// asterisk marks the default page size.
    #[arg(long, help_heading = "Show")]
    pub pool_list: bool,

    /// Show the page sizes, in bytes, that can be used: with a pool and a mount
    ///
    /// The pool's maximum must not be 0, and a hugetlbfs of that page size must
    /// be mounted where the caller may read, write and search.
    #[arg(long, help_heading = "Show")]
    pub page_sizes: bool,

    /// Show all huge page sizes of this machine, in bytes
    #[arg(long, help_heading = "Show")]
    pub page_sizes_all: bool,

    /// Show all hugetlbfs mounts and their options
    #[arg(long, help_heading = "Show")]
    pub list_all_mounts: bool,

    /// Set how many pages a pool keeps; may be repeated
    ///
    /// The pool's maximum stays what it was where that is possible: pages that
    /// are taken from the minimum may come back on demand. When the kernel
    /// finds less memory than was asked for, the exit status is 3.
    #[arg(long, value_name = "SPEC", help_heading = "Pools")]
    pub pool_pages_min: Vec<String>,

    /// Set how many pages a pool may grow to on demand; may be repeated
    ///
    /// A maximum below the minimum lowers the minimum too. Maximums are set
    /// after all minimums.
    #[arg(long, value_name = "SPEC", help_heading = "Pools")]
    pub pool_pages_max: Vec<String>,

    /// Mount each page size on /var/lib/hugetlbfs/pagesize-SIZE, for root
    ///
    /// Owner root:root, mode 0770. What is mounted there already stays, with
    /// its owner and mode mended.
    #[arg(long, help_heading = "Mounts")]
    pub create_mounts: bool,

    /// Mount each page size on /var/lib/hugetlbfs/global/pagesize-SIZE, for everybody
    ///
    /// Owner root:root, mode 1777.
    #[arg(long, help_heading = "Mounts")]
    pub create_global_mounts: bool,

    /// Let the members of a group (name or number) make shared memory of huge pages
    ///
    /// Sets vm.hugetlb_shm_group, which shmget(2) with SHM_HUGETLB asks.
    #[arg(long, value_name = "GROUP", help_heading = "Shared memory")]
    pub set_shm_group: Option<String>,

    /// Print the equivalent shell commands and change nothing
    ///
    /// Needs no privilege. Run by sh, the commands do what hugeadm would.
    #[arg(long, short = 'd', help_heading = "How")]
    pub dry_run: bool,

    /// Say more: 0 nothing, 1 errors, 2 warnings (the default), 3 every change, 4 all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=99), help_heading = "How")]
    pub verbose: Option<u8>,

    /// Say one level more
    #[arg(short = 'v', action = ArgAction::Count, help_heading = "How")]
    pub more: u8,

    /// Print the result as one JSON document
    #[arg(long, help_heading = "How")]
    pub json: bool,

    /// Work on a recorded /proc and /sys below DIR instead of this machine
    ///
    /// Nothing outside DIR is touched. Files and directories below DIR are
    /// changed; mounts and owners are reported as not made, and count as done.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "How")]
    pub sysroot: Option<PathBuf>,

    /// Print help: -h in short, --help in full
    #[arg(long, short = 'h', action = ArgAction::Help, help_heading = "How")]
    help: Option<bool>,

    /// Print the version
    #[arg(long, action = ArgAction::Version, help_heading = "How")]
    version: Option<bool>,
}

/// Why there are no arguments to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Help or version: to be printed, and all is well.
    Print(String),
    /// The command line is wrong.
    Usage(String),
}

impl Args {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// Help, version, or what is wrong.
    pub fn read(argv: Vec<OsString>) -> Result<Args, Stop> {
        let command = Args::command();
        let known: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        let argv = abbrev::expand(argv, &known).map_err(Stop::Usage)?;
        Args::try_parse_from(argv).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                Stop::Print(error.to_string().trim_end().to_owned() + "\n")
            }
            _ => Stop::Usage(told(&error.to_string())),
        })
    }

    /// Whether anything is to be shown.
    pub fn shows(&self) -> bool {
        self.pool_list || self.page_sizes || self.page_sizes_all || self.list_all_mounts
    }

    /// Whether anything is to be changed.
    pub fn changes(&self) -> bool {
        !self.pool_pages_min.is_empty()
            || !self.pool_pages_max.is_empty()
            || self.create_mounts
            || self.create_global_mounts
            || self.set_shm_group.is_some()
    }
}

/// What clap says, without its frame of title, usage and reference.
fn told(error: &str) -> String {
    let text = error.strip_prefix("error: ").unwrap_or(error);
    let text = text.split("\n\nUsage:").next().unwrap_or(text);
    let text = text
        .split("\n\nFor more information")
        .next()
        .unwrap_or(text);
    text.trim_end().replace("\n\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, Stop> {
        Args::read(
            [&["hugeadm"], args]
                .concat()
                .iter()
                .map(OsString::from)
                .collect(),
        )
    }

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn repeated_specs_keep_their_order_and_other_options_may_repeat() {
        let args = parse(&[
            "--pool-list",
            "--pool-pages-min",
            "2MB:1",
            "--pool-list",
            "--pool-pages-min=1GB:2",
            "--set-shm-group",
            "a",
            "--set-shm-group",
            "b",
            "-vv",
            "-v",
        ])
        .unwrap();
        assert_eq!(args.pool_pages_min, ["2MB:1", "1GB:2"]);
        assert_eq!(args.set_shm_group.as_deref(), Some("b"));
        assert_eq!(args.more, 3);
    }

    #[test]
    fn operands_and_levels_out_of_range_are_refused() {
        let stop = parse(&["--pool-list", "garbage"]).unwrap_err();
        assert_eq!(
            stop,
            Stop::Usage("unexpected argument 'garbage' found".to_owned())
        );
        assert!(parse(&["--verbose", "100"]).is_err());
        assert!(parse(&["--verbose", "3x"]).is_err());
        assert!(parse(&["--pool-list=yes"]).is_err());
        assert_eq!(parse(&["--verbose=99"]).unwrap().verbose, Some(99));
        assert_eq!(parse(&["--ver", "3"]).unwrap().verbose, Some(3));
    }
}
