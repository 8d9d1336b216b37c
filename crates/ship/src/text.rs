//! Texts of the packages: descriptions, Debian's changelog and copyright.

use std::process::Command;

use crate::failure::Failure;
use crate::run;
use crate::tree::Tree;

pub(crate) const SUMMARY: &str = "huge pages on Linux: pools, launch, proof";

/// Long description, in lines of less than 80 columns.
pub(crate) const DESCRIPTION: &[&str] = &[
    "Memory-hungry programs run faster on huge pages. hugeadm sets up",
    "the kernel's pools; hugectl starts unmodified programs with heap, code or",
    "shared memory on huge pages and reports the result.",
    "",
    "It replaces libhugetlbfs with the same names, options, variables and C",
    "interface.",
];

pub(crate) const DESCRIPTION_DEV: &[&str] = &[
    "The header, the link and the pkg-config file of the library, and the",
    "directory by which a compiler finds ld.hugetlbfs.",
];

pub(crate) const MAINTAINER: &str = "hugetools <hugetools@users.noreply.github.com>";

pub(crate) const HOMEPAGE: &str = env!("CARGO_PKG_REPOSITORY");

/// Returns the date of the package in seconds since 1970: `SOURCE_DATE_EPOCH`, or the modification
/// time of the changelog.
pub(crate) fn date(tree: &Tree) -> Result<u64, Failure> {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok();
    if let Some(seconds) = epoch.and_then(|text| text.parse().ok()) {
        return Ok(seconds);
    }
    let path = tree.path("CHANGELOG.md");
    let written = std::fs::metadata(&path).and_then(|file| file.modified());
    let written = written.map_err(|error| Failure::of(&path, error))?;
    let since = written.duration_since(std::time::UNIX_EPOCH);
    Ok(since.map_or(0, |time| time.as_secs()))
}

/// Formats the changelog that Debian requires. The full one is installed beside it.
pub(crate) fn debian_changelog(tree: &Tree, version: &str) -> Result<String, Failure> {
    let at = format!("--date=@{}", date(tree)?);
    let mut command = Command::new("date");
    command.args(["--utc", "--rfc-email", &at]);
    let date = run::output_of(command.env("LC_ALL", "C"))?;
    let date = date.trim();
    Ok(format!(
        "hugetools ({version}) unstable; urgency=medium\n\n  \
         * Built from the source tree; see CHANGELOG.md.\n\n \
         -- {MAINTAINER}  {date}\n"
    ))
}

/// Formats the copyright file that Debian requires, including mimalloc's copyright.
pub(crate) fn debian_copyright(tree: &Tree) -> Result<String, Failure> {
    let path = tree.path("LICENSE-MIT");
    let mit = std::fs::read_to_string(&path).map_err(|error| Failure::of(&path, error))?;
    Ok(format!(
        "hugetools, from {HOMEPAGE}, is under the MIT license, below, or the Apache\n\
         license 2.0, in /usr/share/common-licenses/Apache-2.0.\n\n\
         libhugetlbfs_heap.so contains mimalloc, under the MIT license as well:\n\
         Copyright 2018-2025 Microsoft Corporation, Daan Leijen\n\n{mit}"
    ))
}

/// Returns the multiarch name of this machine, such as `x86_64-linux-gnu`.
pub(crate) fn triplet() -> String {
    let machine = match std::env::consts::ARCH {
        "powerpc64" => "powerpc64le",
        other => other,
    };
    format!("{machine}-linux-gnu")
}
