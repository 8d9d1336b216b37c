//! Parses hugeadm's command line with clap, and rejects options that exclude each other.
//!
//! [`abbrev`]: abbreviated long options.
//!
//! **Invariants.** Options of libhugetlbfs' hugeadm keep their names and meanings.

pub mod abbrev;
mod config;
mod general;
mod limits;
mod mounts;
mod pools;
mod show;
mod text;
mod thp;

use std::ffi::OsString;

use clap::{Arg, CommandFactory, Parser};

pub use config::Config;
pub use general::General;
pub use limits::Limits;
pub use mounts::Mounts;
pub(crate) use mounts::{mode as mount_mode, size as mount_size};
pub use pools::Pools;
pub use show::{PoolList, Show};
pub use thp::{DEFRAG, ENABLED, SHMEM, Thp};

/// The parsed command line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Parser)]
#[command(
    name = "hugeadm",
    version,
    about = "Administer huge page pools and hugetlbfs mounts",
    after_help = text::AFTER_HELP,
    override_usage = "hugeadm [OPTIONS]",
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true
)]
pub struct Args {
    /// Options that show something.
    #[command(flatten)]
    pub show: Show,
    /// Options that change pools.
    #[command(flatten)]
    pub pools: Pools,
    /// Options that mount or unmount.
    #[command(flatten)]
    pub mounts: Mounts,
    /// Options for transparent huge pages.
    #[command(flatten)]
    pub thp: Thp,
    /// Options for shared memory and the page allocator.
    #[command(flatten)]
    pub limits: Limits,
    /// Options for configuration files.
    #[command(flatten)]
    pub config: Config,
    /// Options that apply to the whole run.
    #[command(flatten)]
    pub general: General,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub enum Stop {
    /// Our own usage error: an ambiguous abbreviation.
    Usage(String),
    /// Help, version, or a usage error.
    Clap(clap::Error),
}

impl Args {
    /// Parses a command line that starts with the program's name.
    pub fn read(argv: Vec<OsString>) -> Result<Args, Stop> {
        let command = Args::command();
        let known: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        let argv = abbrev::expand(argv, &known).map_err(Stop::Usage)?;
        Args::try_parse_from(argv).map_err(Stop::Clap)
    }

    /// Whether any option changes something.
    pub fn changes(&self) -> bool {
        self.pools.changes()
            || self.mounts.changes()
            || self.thp.changes()
            || self.limits.changes()
            || self.config.changes_boot()
            || self.config.changes()
    }

    /// Whether any option shows something.
    pub fn shows(&self) -> bool {
        self.show.any() || self.config.shows()
    }

    /// Returns an error for options that exclude each other.
    pub fn misuse(&self) -> Option<&'static str> {
        let file = &self.config;
        let others = Args {
            config: Config::default(),
            ..self.clone()
        };
        if file.apply.is_some() && file.rollback {
            return Some("--apply and --rollback exclude each other");
        }
        (file.changes() && (others.changes() || file.changes_boot())).then_some(
            "--apply and --rollback cannot be combined with other changes: run hugeadm twice",
        )
    }

    /// Returns warnings about options without effect, such as `--hard` if no pool may grow.
    pub fn idle_options(&self) -> Vec<String> {
        let Args { pools, mounts, .. } = self;
        let (temp, disk) = (pools.add_temp_swap.is_some(), pools.add_ramdisk_swap);
        let mut minimums = pools.pool_pages_min.iter();
        let whole = !pools.pool_pages_max.is_empty() || minimums.any(|spec| !spec.contains('@'));
        let grows = (pools.grows(), "--pool-pages-min or --pool-spread");
        let forces = (
            pools.grows() || self.config.changes(),
            "--pool-pages-min, --pool-spread, --apply or --rollback",
        );
        let swaps = (temp || disk, "--add-temp-swap or --add-ramdisk-swap");
        let whole = (whole, "a change of a whole pool");
        let creates = (mounts.creates(), "an option that creates mounts");
        let details = "a limit or mode for new mounts";
        let options = [
            (pools.hard, "--hard", grows),
            (pools.force, "--force", forces),
            (temp, "--add-temp-swap", grows),
            (disk, "--add-ramdisk-swap", grows),
            (pools.persist, "--persist", swaps),
            (pools.obey_mempolicy, "--obey-mempolicy", whole),
            (mounts.sets_details(), details, creates),
        ];
        let idle = options.into_iter().filter(|it| it.0 && !it.2.0);
        idle.map(|(_, option, (_, other))| format!("{option} has no effect without {other}"))
            .collect()
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
    fn has_every_classic_option() {
        let command = Args::command();
        let known: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        for name in CLASSIC {
            assert!(known.contains(&name), "{name}");
        }
    }

    #[test]
    fn options_without_effect_are_named() {
        for (args, option) in [
            (["--apply", "--hard"], "--hard"),
            (["--check", "--force"], "--force"),
            (["--pool-list", "--persist"], "--persist"),
            (["--save", "--mount-mode=0700"], "a limit or mode"),
            (["--pool-spread=2MB:8", "--obey-mempolicy"], "--obey-"),
        ] {
            let idle = parse(&args).unwrap().idle_options();
            assert!(idle.len() == 1 && idle[0].starts_with(option), "{idle:?}");
        }
        let idle = parse(&["--rollback", "--force"]).unwrap().idle_options();
        assert_eq!(idle, [""; 0]);
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
        for invalid in ["2770", "4755", "888", "", "+70", "rwx"] {
            assert!(mode(invalid).is_none(), "{invalid}");
        }
    }
}
