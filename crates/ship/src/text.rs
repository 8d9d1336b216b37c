//! Texts that are made: the file of pkg-config, the changelog and the copyright
//! of a Debian package.

use std::path::Path;
use std::process::Command;

use crate::dirs::Dirs;
use crate::failure::Failure;
use crate::run;
use crate::tree::Tree;

/// One line that says what it is.
pub(crate) const SUMMARY: &str = "huge pages on Linux: pools, launch, proof";

/// A few lines more, each at most 72 characters long.
pub(crate) const DESCRIPTION: &[&str] = &[
    "Memory-hungry programs run faster on huge pages. hugeadm makes the pools",
    "of the kernel, hugectl starts programs as they are with heap, code or",
    "shared memory on huge pages, and shows what came of it.",
    "",
    "It takes the place of libhugetlbfs: names, options, variables and the C",
    "interface are the same.",
];

/// The same for what programs are built with.
pub(crate) const DESCRIPTION_DEV: &[&str] = &[
    "The header, the link and the pkg-config file of the library, and the",
    "directory by which a compiler finds ld.hugetlbfs.",
];

/// Who answers.
pub(crate) const MAINTAINER: &str = "hugetools <hugetools@users.noreply.github.com>";

/// Where it comes from.
pub(crate) const HOMEPAGE: &str = env!("CARGO_PKG_REPOSITORY");

/// `hugetlbfs.pc`. Where the loader would not find the library, programs are told
/// where it is.
pub(crate) fn pkg_config(dirs: &Dirs, version: &str) -> String {
    let rpath = match dirs.is_searched {
        true => "",
        false => "-Wl,-rpath,${libdir} ",
    };
    format!(
        "prefix={}\nlibdir=${{prefix}}/{}\nincludedir=${{prefix}}/include\n\n\
         Name: hugetlbfs\nDescription: Huge pages for C programs\nURL: {HOMEPAGE}\n\
         Version: {version}\nLibs: -L${{libdir}} {rpath}-lhugetlbfs\n\
         Cflags: -I${{includedir}}\n",
        dirs.prefix.display(),
        dirs.libdir.display(),
    )
}

/// Seconds since 1970 that stand in the package: `SOURCE_DATE_EPOCH`, or when the
/// changelog was written.
pub(crate) fn date(tree: &Tree) -> Result<u64, Failure> {
    let told = std::env::var("SOURCE_DATE_EPOCH").ok();
    if let Some(seconds) = told.and_then(|text| text.parse().ok()) {
        return Ok(seconds);
    }
    let path = tree.path("CHANGELOG.md");
    let written = std::fs::metadata(&path).and_then(|file| file.modified());
    let written = written.map_err(|error| Failure::of(&path, error))?;
    let since = written.duration_since(std::time::UNIX_EPOCH);
    Ok(since.map_or(0, |time| time.as_secs()))
}

/// A date as mail has it.
fn mail_date(seconds: u64, format: &str) -> Result<String, Failure> {
    let mut command = Command::new("date");
    let at = format!("--date=@{seconds}");
    let said = run::done(command.env("LC_ALL", "C").args(["--utc", &at, format]))?;
    Ok(said.trim().to_owned())
}

/// The changelog that Debian wants; the real one lies beside it.
pub(crate) fn debian_changelog(tree: &Tree, version: &str) -> Result<String, Failure> {
    let date = mail_date(date(tree)?, "+%a, %d %b %Y %H:%M:%S +0000")?;
    Ok(format!(
        "hugetools ({version}) unstable; urgency=medium\n\n  \
         * Built from the tree; CHANGELOG.md says what is new.\n\n \
         -- {MAINTAINER}  {date}\n"
    ))
}

/// The copyright that Debian wants: ours, and that of what is linked in.
pub(crate) fn debian_copyright(tree: &Tree) -> Result<String, Failure> {
    let path = tree.path("LICENSE-MIT");
    let mit = std::fs::read_to_string(&path).map_err(|error| Failure::of(&path, error))?;
    let holder = mit.lines().find(|line| line.starts_with("Copyright"));
    let holder = holder.unwrap_or("Copyright the authors of hugetools");
    let holder = holder
        .trim_start_matches("Copyright")
        .trim_start_matches(" (c)")
        .trim();
    let body = mit
        .lines()
        .skip_while(|line| !line.starts_with("Permission"));
    let body: String = body
        .map(|line| match line {
            "" => " .\n".to_owned(),
            line => format!(" {line}\n"),
        })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: hugetools\nSource: {HOMEPAGE}\n\n\
         Files: *\nCopyright: {holder}\nLicense: Expat or Apache-2.0\n\n\
         Files: libhugetlbfs_heap.so\n\
         Copyright: 2018-2025 Microsoft Corporation, Daan Leijen\nLicense: Expat\n\
         Comment: mimalloc is part of this library.\n\n\
         License: Expat\n{body}\n\
         License: Apache-2.0\n \
         On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.\n"
    ))
}

/// The machine's name in Debian's directories, such as `x86_64-linux-gnu`.
pub(crate) fn triplet() -> String {
    let machine = match std::env::consts::ARCH {
        "powerpc64" => "powerpc64le",
        other => other,
    };
    format!("{machine}-linux-gnu")
}

/// What a directory holds, in kilobytes, each file rounded up.
pub(crate) fn kilobytes(root: &Path) -> u64 {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => 1 + kilobytes(&entry.path()),
        Ok(found) => found.len().div_ceil(1024),
        Err(_) => 0,
    });
    sizes.sum()
}
