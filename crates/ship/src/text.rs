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

/// Formats the copyright file, which names all code in the binaries. The MIT license demands that of
/// each copy.
pub(crate) fn copyright(tree: &Tree) -> Result<String, Failure> {
    let path = tree.path("LICENSE-MIT");
    let mit = std::fs::read_to_string(&path).map_err(|error| Failure::of(&path, error))?;
    Ok(format!(
        "hugetools, from {HOMEPAGE}, is under the MIT license, below, or the Apache\n\
         license 2.0, in LICENSE-APACHE or /usr/share/common-licenses/Apache-2.0.\n\n\
         libhugetlbfs_heap.so contains mimalloc, under the MIT license as well:\n\
         Copyright 2018-2025 Microsoft Corporation, Daan Leijen\n\n\
         The programs contain Rust's standard library and these crates under the MIT license:\n\
         libmimalloc-sys: Copyright 2019 Octavian Oncescu\n\
         memchr: Copyright 2015 Andrew Gallant\n\
         nix: Copyright 2015 Carl Lerche + nix-rust Authors\n\
         statrs: Copyright 2016 Michael Ma\n\
         strsim: Copyright 2015 Danny Guo, 2016 Titus Wormer, 2018 Akash Kurdekar\n\
         textwrap: Copyright 2016 Martin Geisler\n\
         winnow, zmij: their authors\n\
         Cargo.lock lists their other crates, all under the Apache license 2.0.\n\n\
         A statically linked hugectl contains the GNU C Library, under the LGPL 2.1 or newer, in\n\
         /usr/share/common-licenses/LGPL-2.1 or at https://www.gnu.org/licenses: Copyright\n\
         Free Software Foundation, Inc.\n\n{mit}"
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
