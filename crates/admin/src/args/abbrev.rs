//! Abbreviated long options, as in GNU `getopt_long`.
//!
//! An abbreviation that is unambiguous among libhugetlbfs' options keeps its meaning
//! despite new options: `--ver` is `--verbose`, although `--version` is new. An
//! abbreviation that is ambiguous among libhugetlbfs' options stays an error.

use std::ffi::{OsStr, OsString};

/// The long options of libhugetlbfs' hugeadm.
pub const CLASSIC: [&str; 32] = [
    "add-ramdisk-swap",
    "add-temp-swap",
    "create-global-mounts",
    "create-group-mounts",
    "create-mounts",
    "create-user-mounts",
    "disable-zone-movable",
    "dry-run",
    "enable-zone-movable",
    "explain",
    "hard",
    "help",
    "list-all-mounts",
    "max-inodes",
    "max-size",
    "obey-mempolicy",
    "page-sizes",
    "page-sizes-all",
    "persist",
    "pool-list",
    "pool-pages-max",
    "pool-pages-min",
    "set-recommended-min_free_kbytes",
    "set-recommended-shmmax",
    "set-shm-group",
    "thp-always",
    "thp-khugepaged-alloc-sleep",
    "thp-khugepaged-pages",
    "thp-khugepaged-scan-sleep",
    "thp-madvise",
    "thp-never",
    "verbose",
];

/// Expands abbreviations of classic options. Exact names in `known` and all other arguments stay.
/// An ambiguous abbreviation is an error that lists the candidates.
pub fn expand(argv: Vec<OsString>, known: &[&str]) -> Result<Vec<OsString>, String> {
    let mut operands = false;
    argv.into_iter()
        .map(|arg| {
            operands |= arg == "--";
            match operands {
                true => Ok(arg),
                false => expand_one(&arg, known).map(|full| full.unwrap_or(arg)),
            }
        })
        .collect()
}

fn expand_one(arg: &OsStr, known: &[&str]) -> Result<Option<OsString>, String> {
    let Some(text) = arg.to_str().and_then(|arg| arg.strip_prefix("--")) else {
        return Ok(None);
    };
    let (name, value) = match text.split_once('=') {
        None => (text, None),
        Some((name, value)) => (name, Some(value)),
    };
    if name.is_empty() || known.contains(&name) || CLASSIC.contains(&name) {
        return Ok(None);
    }
    let mut meant = CLASSIC.iter().filter(|classic| classic.starts_with(name));
    match (meant.next(), meant.clone().next()) {
        (None, _) => Ok(None),
        (Some(only), None) => Ok(Some(match value {
            None => format!("--{only}").into(),
            Some(value) => format!("--{only}={value}").into(),
        })),
        (Some(first), Some(_)) => {
            let all: Vec<String> = std::iter::once(first)
                .chain(meant)
                .map(|classic| format!("--{classic}"))
                .collect();
            Err(format!("--{name} is ambiguous: {}", all.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::CommandFactory;

    fn one(arg: &str) -> Result<String, String> {
        let command = Args::command();
        let longs = command.get_arguments().filter_map(clap::Arg::get_long);
        let known: Vec<&str> = longs.collect();
        expand(vec![arg.into()], &known).map(|args| args[0].to_str().unwrap().to_owned())
    }

    #[test]
    fn new_options_break_no_abbreviation() {
        assert_eq!(one("--ver").unwrap(), "--verbose");
        assert_eq!(one("--v=3").unwrap(), "--verbose=3");
        assert_eq!(one("--pool-l").unwrap(), "--pool-list");
        assert_eq!(
            one("--pool-pages-mi=DEFAULT:1").unwrap(),
            "--pool-pages-min=DEFAULT:1"
        );
        assert_eq!(one("--set-s").unwrap(), "--set-shm-group");
        assert_eq!(one("--version").unwrap(), "--version");
        assert_eq!(one("--vers").unwrap(), "--vers");
    }

    #[test]
    fn ambiguous_abbreviations_stay_errors() {
        assert_eq!(one("--h").unwrap_err(), "--h is ambiguous: --hard, --help");
        assert_eq!(
            one("--pool").unwrap_err(),
            "--pool is ambiguous: --pool-list, --pool-pages-max, --pool-pages-min"
        );
    }

    #[test]
    fn operands_and_short_options_stay_unchanged() {
        let argv = ["-v", "x", "--", "--pool-l"].map(OsString::from).to_vec();
        assert_eq!(expand(argv.clone(), &[]).unwrap(), argv);
    }
}
