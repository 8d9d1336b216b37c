//! The command line of hugeadm, as clap reads it. Names are libhugetlbfs';
//! nothing is decided here.
//!
//! [`abbrev`]: abbreviated long options.
//!
//! **Invariants.** An option that libhugetlbfs' hugeadm has keeps its name and meaning.

pub mod abbrev;
mod how;
mod limits;
mod mounts;
mod pools;
mod show;
mod text;
mod thp;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, CommandFactory, Parser};

pub use how::How;
pub use limits::Limits;
pub use mounts::Mounts;
pub use pools::Pools;
pub use show::{PoolList, Show};
pub use thp::Thp;

/// What was written on the command line.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(
    name = "hugeadm",
    version,
    about = "Administer huge page pools and hugetlbfs mounts",
    long_about = text::LONG_ABOUT,
    after_help = text::AFTER_HELP,
    override_usage = "hugeadm [OPTIONS]",
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Args {
    /// What to show.
    #[command(flatten)]
    pub show: Show,
    /// What to change about the pools.
    #[command(flatten)]
    pub pools: Pools,
    /// What to mount.
    #[command(flatten)]
    pub mounts: Mounts,
    /// What to change about transparent huge pages.
    #[command(flatten)]
    pub thp: Thp,
    /// What to change about shared memory and the page allocator.
    #[command(flatten)]
    pub limits: Limits,
    /// How to go about it.
    #[command(flatten)]
    pub how: How,
}

/// Why there are no arguments to go on with.
#[derive(Debug)]
pub enum Stop {
    /// Help or version: to be printed, and all is well.
    Print(String),
    /// The command line is wrong, as the text says.
    Usage(String),
    /// The same, as clap says.
    Clap(clap::Error),
    /// An argument is no text.
    NoText,
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
            ErrorKind::InvalidUtf8 => Stop::NoText,
            _ => Stop::Clap(error),
        })
    }

    /// Whether anything is to be changed.
    pub fn changes(&self) -> bool {
        self.pools.changes() || self.mounts.changes() || self.thp.changes() || self.limits.changes()
    }

    /// What does not go together.
    pub fn misuse(&self) -> Option<&'static str> {
        let watched = Show {
            stats: true,
            watch: self.show.watch,
            ..Show::default()
        };
        let is_alone = self.show == watched && !self.changes() && !self.how.dry_run;
        match (self.show.watch, self.show.stats) {
            (Some(_), false) => Some("--watch needs --stats: the figures are looked at again"),
            (Some(_), true) if !is_alone => {
                Some("--watch shows --stats alone: give other options to a run of their own")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::abbrev::CLASSIC;

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
    fn every_classic_option_is_there() {
        let command = Args::command();
        let known: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        for name in CLASSIC {
            assert!(known.contains(&name), "{name}");
        }
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
        assert_eq!(args.pools.pool_pages_min, ["2MB:1", "1GB:2"]);
        assert_eq!(args.limits.set_shm_group.as_deref(), Some("b"));
        assert_eq!(args.how.more, 3);
    }

    #[test]
    fn operands_and_levels_out_of_range_are_refused() {
        let stop = parse(&["--pool-list", "garbage"]).unwrap_err();
        let is_unknown = |error: &clap::Error| error.kind() == ErrorKind::UnknownArgument;
        assert!(
            matches!(&stop, Stop::Clap(error) if is_unknown(error)),
            "{stop:?}"
        );
        assert!(parse(&["--verbose", "100"]).is_err());
        assert!(parse(&["--verbose", "3x"]).is_err());
        assert!(parse(&["--pool-list=yes"]).is_err());
        assert_eq!(parse(&["--verbose=99"]).unwrap().how.verbose, Some(99));
        assert_eq!(parse(&["--ver", "3"]).unwrap().how.verbose, Some(3));
    }

    #[test]
    fn temporary_swap_takes_its_size_only_after_an_equals_sign() {
        let swap = |arg| parse(&[arg]).map(|args| args.pools.add_temp_swap).ok();
        assert_eq!(swap("--add-temp-swap"), Some(Some(5)));
        assert_eq!(swap("--add-temp-swap=12"), Some(Some(12)));
        assert_eq!(swap("--add-temp-swap=0"), Some(Some(0)));
        assert!(parse(&["--add-temp-swap", "12"]).is_err());
        assert!(parse(&["--add-temp-swap=-1"]).is_err());
        assert!(parse(&["--add-temp-swap="]).is_err());
    }

    #[test]
    fn both_names_of_the_memory_policy_are_one_option() {
        for name in [
            "--obey-mempolicy",
            "--obey-numa-mempol",
            "--obey",
            "--obey-numa",
        ] {
            assert!(parse(&[name]).unwrap().pools.obey_mempolicy, "{name}");
        }
    }

    #[test]
    fn the_later_of_two_opposites_counts() {
        let args = parse(&["--enable-zone-movable", "--disable-zone-movable"]).unwrap();
        assert_eq!(
            (
                args.limits.enable_zone_movable,
                args.limits.disable_zone_movable
            ),
            (false, true)
        );
    }

    #[test]
    fn a_watch_is_of_figures_alone() {
        let misuse = |args: &[&str]| parse(args).unwrap().misuse().unwrap_or_default();
        assert_eq!(misuse(&["--stats", "--watch", "--json", "-v"]), "");
        assert_eq!(misuse(&["--stats", "--who", "--pool-pages-min=2M:1"]), "");
        assert!(misuse(&["--watch"]).starts_with("--watch needs --stats"));
        for other in ["--who", "--dry-run", "--pool-pages-min=2M:1"] {
            assert!(misuse(&["--stats", "--watch=5", other]).starts_with("--watch shows"));
        }
        assert!(parse(&["--stats", "--watch=0"]).is_err());
    }

    #[test]
    fn modes_of_mounts_are_octal() {
        let mode = |text| {
            parse(&["--mount-mode", text])
                .map(|args| args.mounts.mount_mode)
                .ok()
        };
        assert_eq!(mode("1770"), Some(Some(0o1770)));
        assert_eq!(mode("0755"), Some(Some(0o755)));
        for odd in ["2770", "4755", "888", "", "+70", "rwx"] {
            assert!(mode(odd).is_none(), "{odd}");
        }
    }
}
