//! Installs from the tree into a prefix without root: programs link and run there without further
//! settings, uninstalling leaves nothing behind, and packages contain the files of the table.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hugetools_elf::Ident;
use hugetools_ship::args::Destination;
use hugetools_ship::layout::{Contents, Item};
use hugetools_ship::tree::Tree;
use hugetools_ship::{deb, install, layout, packages, rpm};

use crate::support::bless;
use crate::support::needs;
use crate::support::tool::{self, BUILT, Run};

/// A directory with the build results, and room for the prefix.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place::with(&BUILT)
    }

    /// Returns a place where the smallest tool stands for all: packing every tool takes a minute.
    fn small() -> Place {
        Place::with(&BUILT.map(|(name, _)| (name, env!("CARGO_BIN_EXE_pagesize"))))
    }

    fn with(files: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("built")).unwrap();
        for (name, file) in files {
            tool::copy(file, place.path("built").join(name));
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn tree(&self) -> Tree {
        Tree::prepare(Some(&self.path("built"))).unwrap()
    }

    /// Returns the prefix. An explicit root keeps the system's ld.so.cache unchanged.
    fn prefix(&self) -> Destination {
        Destination {
            prefix: self.path("prefix"),
            libdir: "lib".into(),
            destdir: Some("/".into()),
            force: false,
        }
    }

    /// Runs a line that must succeed, with only PATH set. Returns its output.
    fn ok(&self, line: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.0.path());
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let ran = command.ran();
        assert_eq!(
            (ran.status, ran.err.as_str()),
            (0, ""),
            "{line}\n{}",
            ran.out
        );
        ran.out
    }
}

/// Prints the path of its library. Fails if the library lists no page size.
const PROGRAM: &str = r#"
#include <hugetlbfs.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    int sizes = getpagesizes(NULL, 0);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, " r-xp ") && strstr(line, "hugetlbfs"))
            fputs(strchr(line, '/'), stdout);
    return sizes < 1;
}
"#;

#[test]
fn a_prefix_needs_no_further_settings() {
    let place = Place::new();
    fs::write(place.path("program.c"), PROGRAM).unwrap();
    install::install(&place.tree(), &place.prefix()).unwrap();
    let library = format!("{}\n", place.path("prefix/lib/libhugetlbfs.so.0").display());
    place.ok("cc program.c -o aligned -Iprefix/include -Bprefix/share/libhugetlbfs -Wl,--hugetlbfs-align");
    assert_eq!(place.ok("./aligned"), library);
    let pc = place.ok("cat prefix/lib/pkgconfig/hugetlbfs.pc");
    let field = |name: &str| {
        let value = pc.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let prefix = place.path("prefix").display().to_string();
        value
            .replace("${libdir}", &format!("{prefix}/lib"))
            .replace("${includedir}", &format!("{prefix}/include"))
    };
    place.ok(&format!(
        "cc program.c -o linked {} {}",
        field("Cflags: "),
        field("Libs: ")
    ));
    assert_eq!(place.ok("./linked"), library);
    // hugectl finds the libraries of its prefix.
    let planned = place.ok("prefix/bin/hugectl -q --heap=thp --shm=thp --dry-run sh -c :");
    let heap = place.path("prefix/lib/hugetools/libhugetlbfs_heap.so");
    assert!(planned.contains(&heap.display().to_string()), "{planned}");
    let man = place.ok("test -s prefix/share/man/man8/hugectl.8 && prefix/bin/hugectl --version");
    assert!(man.starts_with("hugectl "), "{man}");
}

#[test]
fn uninstalling_removes_everything() {
    let place = Place::new();
    let other = place.path("prefix/share/other");
    fs::create_dir_all(&other).unwrap();
    let before = place.ok("find prefix | sort");
    install::install(&place.tree(), &place.prefix()).unwrap();
    let installed = place.ok("find prefix | sort");
    // A second installation changes nothing.
    install::install(&place.tree(), &place.prefix()).unwrap();
    assert_eq!(place.ok("find prefix | sort"), installed);
    assert!(install::uninstall(&place.prefix()).is_ok());
    assert_eq!(place.ok("find prefix | sort"), before);
    let none = install::uninstall(&place.prefix()).unwrap_err().to_string();
    assert!(none.contains("nothing was installed"), "{none}");
}

/// Returns a line for each file, as in a package's list.
fn list(name: &str, items: &[Item]) -> String {
    let mut lines: Vec<String> = items.iter().map(line).collect();
    lines.sort();
    format!("{name}\n{}", lines.concat())
}

fn line(item: &Item) -> String {
    let path = item.path.display();
    match &item.contents {
        Contents::Link(to) => format!("  {path} -> {to}\n"),
        _ => format!("  {path}\n"),
    }
}

#[test]
fn packages_contain_the_files_of_the_table() {
    let tree = Place::new().tree();
    let mut text = String::new();
    for package in &deb::PACKAGES {
        let items = deb::items(&tree, package).unwrap();
        let fields = deb::fields(&tree, package, "MACHINE", "DEPENDS", "0");
        text.extend([
            fields,
            "\n".to_owned(),
            list(package.name, &items),
            "\n".to_owned(),
        ]);
    }
    let items = layout::items(&tree, &rpm::dirs()).unwrap();
    text += &rpm::spec(&tree, &items, Path::new("/STAGE"));
    let triplet = format!("{}-linux-gnu", Ident::native().directory_name());
    bless::compare(
        "tests/expected/install.txt",
        &text.replace(&triplet, "TRIPLET"),
    )
    .unwrap();
    // Every man page and completion is installed.
    for dir in ["man", "completions"] {
        for entry in fs::read_dir(bless::project(dir)).unwrap() {
            let name = format!("{dir}/{}", entry.unwrap().file_name().to_str().unwrap());
            let base = Path::new(&name).file_name().unwrap();
            let has = items.iter().any(|item| match &item.contents {
                Contents::Tree(from) => *from == name,
                // A man page may have several names.
                _ => dir == "man" && item.path.file_name() == Some(base),
            });
            assert!(has, "{name} is not installed");
        }
    }
}

#[test]
fn debian_packages_match_their_lists() {
    let name = "debian_packages_match_their_lists";
    let place = Place::small();
    if !needs::programs(name, &["dpkg-shlibdeps"]) {
        return;
    }
    let tree = place.tree();
    // Without rpmbuild, the Debian packages are still made.
    let text = packages::make(&tree, Some(place.path("packages"))).unwrap();
    assert!(
        text.contains(".rpm\n") || text.ends_with("no rpm: rpmbuild is not installed\n"),
        "{text}"
    );
    let made: Vec<&str> = text.lines().filter(|line| line.ends_with(".deb")).collect();
    assert_eq!(made.len(), deb::PACKAGES.len(), "{text}");
    for (file, package) in made.iter().zip(&deb::PACKAGES) {
        let out = place.ok(&format!("dpkg-deb --fsys-tarfile {file} | tar -t"));
        let mut found: Vec<&str> = out.lines().filter(|line| !line.ends_with('/')).collect();
        let items = deb::items(&tree, package).unwrap();
        let wanted = items.iter().map(|item| format!(".{}", item.path.display()));
        let mut wanted: Vec<String> = wanted.collect();
        for path in &mut wanted {
            if path.contains("/man/") || path.to_lowercase().contains("/changelog") {
                path.push_str(".gz");
            }
        }
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }
}
