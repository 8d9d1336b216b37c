//! RPM packages, built by `rpmbuild` from the same table of files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::deb::clear;
use crate::failure::Failure;
use crate::layout::{self, Dirs, Item, Part};
use crate::run;
use crate::stage::write_item;
use crate::text;
use crate::tree::Tree;

/// Packages of Fedora and its derivatives that ours replace.
const RUN: [&str; 2] = ["libhugetlbfs", "libhugetlbfs-utils"];
const DEV: [&str; 1] = ["libhugetlbfs-devel"];

/// The last version of those packages.
const CLASSIC: &str = "2.24";

/// The library by the SONAME that it has outside Debian, for programs linked with it.
const SONAME: &str = "/usr/lib64/libhugetlbfs.so";

/// RPM derives none of these from a link.
const PROVIDES: &str = "Provides: libhugetlbfs.so()(64bit) libhugetlbfs.so(VERS_1.0)(64bit)\n\
    Provides: libhugetlbfs.so(HTLBFS_2.0)(64bit) libhugetlbfs.so(HTLBFS_2.1)(64bit)\n";

/// The directories of an RPM package.
pub fn dirs() -> Dirs {
    Dirs {
        prefix: "/usr".into(),
        libdir: "lib64".into(),
        zsh: "zsh/site-functions",
        loader_searches_libdir: true,
    }
}

/// Builds both packages and returns their files.
pub fn make(tree: &Tree, output: &Path) -> Result<Vec<PathBuf>, Failure> {
    let output = std::path::absolute(output).map_err(|error| Failure::of(output, error))?;
    let top = output.join("rpmbuild");
    clear(&top)?;
    let stage = top.join("stage");
    let items = layout::items(tree, &dirs())?;
    for item in &items {
        write_item(tree, &stage, item)?;
    }
    let spec = top.join("hugetools.spec");
    fs::write(&spec, self::spec(tree, &items, &stage))
        .map_err(|error| Failure::of(&spec, error))?;
    let mut command = Command::new("rpmbuild");
    command.arg("-bb").arg("--quiet");
    command
        .arg("--define")
        .arg(format!("_topdir {}", top.display()));
    command
        .arg("--define")
        .arg(format!("_rpmdir {}", output.display()));
    command.args([
        "--define",
        "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
    ]);
    // Without these, each build has another date and host name in it.
    for define in [
        "use_source_date_epoch_as_buildtime 1",
        "clamp_mtime_to_source_date_epoch 1",
        "_buildhost hugetools",
    ] {
        command.args(["--define", define]);
    }
    command.env("SOURCE_DATE_EPOCH", text::date(tree)?.to_string());
    run::output_of(command.arg(&spec))?;
    clear(&top)?;
    let machine = match std::env::consts::ARCH {
        "powerpc64" => "ppc64le",
        other => other,
    };
    let file = |name: &str| output.join(format!("{name}-{}-1.{machine}.rpm", tree.version()));
    Ok(vec![file("hugetools"), file("hugetools-devel")])
}

/// Returns the spec lines that replace other packages.
fn replacement_lines(names: &[&str]) -> String {
    let lines = names.iter();
    let lines =
        lines.map(|name| format!("Provides: {name} = {CLASSIC}\nObsoletes: {name} <= {CLASSIC}\n"));
    lines.collect()
}

/// Formats the spec file, which only packs the staged files.
pub fn spec(tree: &Tree, items: &[Item], stage: &Path) -> String {
    let (run, dev) = (replacement_lines(&RUN), replacement_lines(&DEV));
    let part_of = |item: &Item| match item.path == Path::new(SONAME) {
        true => Part::Run,
        false => item.part,
    };
    let list = |part: Part| {
        let own = items.iter().filter(|item| part_of(item) == part);
        let dirs: BTreeSet<String> = own.clone().flat_map(own_dirs).collect();
        dirs.into_iter().chain(own.map(line)).collect::<String>()
    };
    let (files, dev_files) = (list(Part::Run), list(Part::Dev));
    let (about, about_dev) = (
        text::DESCRIPTION.join("\n"),
        text::DESCRIPTION_DEV.join("\n"),
    );
    format!(
        "%global debug_package %{{nil}}\n%global __os_install_post %{{nil}}\n\
         Name: hugetools\nVersion: {}\nRelease: 1\nSummary: {}\n\
         License: (MIT OR Apache-2.0) AND MIT AND Apache-2.0 AND LGPL-2.1-or-later\nURL: {}\n{run}{PROVIDES}\n\
         %description\n{about}\n\n\
         %package devel\nSummary: {} - development files\n\
         Requires: hugetools = %{{version}}-%{{release}}\n{dev}\n\
         %description devel\n{about_dev}\n\n\
         %install\ncp -a '{}/.' %{{buildroot}}/\n\n\
         %post -p /sbin/ldconfig\n%postun -p /sbin/ldconfig\n\n\
         %files\n{files}\n%files devel\n{dev_files}",
        tree.version(),
        text::SUMMARY,
        text::HOMEPAGE,
        text::SUMMARY,
        stage.display(),
    )
}

/// Returns the lines of a file's directories that no other package has. RPM removes only these.
fn own_dirs(item: &Item) -> impl Iterator<Item = String> {
    let is_own = |dir: &&Path| {
        let mut names = dir.iter();
        names.any(|name| name == "hugetools" || name == "libhugetlbfs")
    };
    let dirs = item.path.ancestors().skip(1).filter(is_own);
    dirs.map(|dir| format!("%dir {}\n", dir.display()))
}

fn line(item: &Item) -> String {
    let path = item.path.display().to_string();
    let kind = match path.as_str() {
        path if path.contains("/LICENSE-") || path.ends_with("/copyright") => "%license ",
        path if path.contains("/share/doc/") => "%doc ",
        _ => "",
    };
    format!("{kind}{path}\n")
}
