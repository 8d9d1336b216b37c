//! What is installed, and where: the one table.

use std::path::PathBuf;

use crate::dirs::Dirs;
use crate::failure::Failure;
use crate::text;
use crate::tree::Tree;

/// Which package a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// What runs: `hugetools`.
    Run,
    /// What programs are built with: `hugetools-dev`.
    Dev,
}

/// How a file comes to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// A copy of what was built, with its symbols left out.
    Built(&'static str),
    /// A copy of a file of the tree.
    Tree(String),
    /// A symbolic link with this contents.
    Link(String),
    /// A text.
    Text(String),
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Which package it belongs to.
    pub part: Part,
    /// Its path, from the root.
    pub path: PathBuf,
    /// Its permissions, where it is no link.
    pub mode: u32,
    /// How it comes to be.
    pub from: From,
}

/// Programs: their names when built and when installed.
const PROGRAMS: [(&str, &str); 5] = [
    ("hugeadm", "hugeadm"),
    ("hugectl", "hugectl"),
    ("hugeedit", "hugeedit"),
    ("ld-hugetlbfs", "ld.hugetlbfs"),
    ("pagesize", "pagesize"),
];

/// By which names compilers look for a linker.
const LINKERS: [&str; 4] = ["ld", "ld.bfd", "ld.gold", "ld.lld"];

/// All files, by path.
///
/// # Errors
/// When a directory of the tree cannot be read.
pub fn items(tree: &Tree, dirs: &Dirs) -> Result<Vec<Item>, Failure> {
    let mut all = Table {
        dirs,
        items: Vec::new(),
    };
    for (built, name) in PROGRAMS {
        all.add(Part::Run, &format!("bin/{name}"), 0o755, From::Built(built));
    }
    all.libraries();
    all.development(tree);
    all.pages(tree)?;
    all.completions();
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        let to = format!("share/doc/hugetools/{name}");
        all.add(Part::Run, &to, 0o644, From::Tree(name.to_owned()));
    }
    all.items.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all.items)
}

struct Table<'a> {
    dirs: &'a Dirs,
    items: Vec<Item>,
}

impl Table<'_> {
    fn add(&mut self, part: Part, path: &str, mode: u32, from: From) {
        let path = self.dirs.prefix.join(path);
        self.items.push(Item {
            part,
            path,
            mode,
            from,
        });
    }

    /// The library that programs are linked with has the name that the loader
    /// looks for. The other one carries the same name inside, so it lies where no
    /// loader looks; beside it, the names that hugectl knows.
    fn libraries(&mut self) {
        let lib = self.dirs.libdir.display().to_string();
        let library = From::Built("libhugetlbfs.so");
        self.add(
            Part::Run,
            &format!("{lib}/libhugetlbfs.so.0"),
            0o644,
            library,
        );
        let own = format!("{lib}/hugetools");
        let heap = From::Built("libhugetlbfs_heap.so");
        self.add(
            Part::Run,
            &format!("{own}/libhugetlbfs_heap.so"),
            0o644,
            heap,
        );
        let link = From::Link("../libhugetlbfs.so.0".to_owned());
        self.add(Part::Run, &format!("{own}/libhugetlbfs.so"), 0, link);
    }

    fn development(&mut self, tree: &Tree) {
        let lib = self.dirs.libdir.display().to_string();
        let link = From::Link("libhugetlbfs.so.0".to_owned());
        self.add(Part::Dev, &format!("{lib}/libhugetlbfs.so"), 0, link);
        let header = From::Tree("crates/preload/include/hugetlbfs.h".to_owned());
        self.add(Part::Dev, "include/hugetlbfs.h", 0o644, header);
        let pc = From::Text(text::pkg_config(self.dirs, tree.version()));
        self.add(
            Part::Dev,
            &format!("{lib}/pkgconfig/hugetlbfs.pc"),
            0o644,
            pc,
        );
        // Where libhugetlbfs has it, too.
        for name in LINKERS {
            let link = From::Link("../../bin/ld.hugetlbfs".to_owned());
            self.add(Part::Dev, &format!("share/libhugetlbfs/{name}"), 0, link);
        }
    }

    /// Functions are for those who build.
    fn pages(&mut self, tree: &Tree) -> Result<(), Failure> {
        let dir = tree.path("man");
        let entries = std::fs::read_dir(&dir).map_err(|error| Failure::of(&dir, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| Failure::of(&dir, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let section = name.rsplit('.').next().unwrap_or_default();
            let part = match section {
                "3" => Part::Dev,
                _ => Part::Run,
            };
            let to = format!("share/man/man{section}/{name}");
            // One page may have several names.
            let from = match std::fs::read_link(entry.path()) {
                Ok(other) => From::Link(other.display().to_string()),
                Err(_) => From::Tree(format!("man/{name}")),
            };
            self.add(part, &to, 0o644, from);
        }
        Ok(())
    }

    fn completions(&mut self) {
        for (_, name) in PROGRAMS {
            for (file, to) in [
                (
                    format!("{name}.bash"),
                    format!("share/bash-completion/completions/{name}"),
                ),
                (format!("_{name}"), format!("{}/_{name}", self.dirs.zsh)),
                (
                    format!("{name}.fish"),
                    format!("share/fish/vendor_completions.d/{name}.fish"),
                ),
                // These shells look nowhere by themselves: one names them.
                (
                    format!("{name}.elv"),
                    format!("share/hugetools/completions/{name}.elv"),
                ),
                (
                    format!("{name}.ps1"),
                    format!("share/hugetools/completions/{name}.ps1"),
                ),
            ] {
                let from = From::Tree(format!("completions/{file}"));
                self.add(Part::Run, &to, 0o644, from);
            }
        }
    }
}
