//! The table of installed files.

use std::path::PathBuf;

use crate::dirs::Dirs;
use crate::failure::Failure;
use crate::text;
use crate::tree::Tree;

/// The package of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Programs, libraries and their documentation: `hugetools`.
    Run,
    /// Development files: `hugetools-dev`.
    Dev,
}

/// Where the contents of a file come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// A stripped copy of a build result.
    Built(&'static str),
    /// A copy of a file in the source tree.
    Tree(String),
    /// A symbolic link to this path.
    Link(String),
    /// This text.
    Text(String),
}

/// A file to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The package.
    pub part: Part,
    /// The absolute path.
    pub path: PathBuf,
    /// Permissions; unused for links.
    pub mode: u32,
    /// The contents.
    pub contents: Contents,
}

/// Names of programs: as built, as installed.
const PROGRAMS: [(&str, &str); 5] = [
    ("hugeadm", "hugeadm"),
    ("hugectl", "hugectl"),
    ("hugeedit", "hugeedit"),
    ("ld-hugetlbfs", "ld.hugetlbfs"),
    ("pagesize", "pagesize"),
];

/// Names that compilers use for the linker.
const LINKERS: [&str; 4] = ["ld", "ld.bfd", "ld.gold", "ld.lld"];

/// Lists all files, sorted by path.
///
/// # Errors
///
/// When a directory of the source tree cannot be read.
pub fn items(tree: &Tree, dirs: &Dirs) -> Result<Vec<Item>, Failure> {
    let mut all = Table {
        dirs,
        items: Vec::new(),
    };
    for (built, name) in PROGRAMS {
        all.add(
            Part::Run,
            &format!("bin/{name}"),
            0o755,
            Contents::Built(built),
        );
    }
    all.libraries();
    all.development(tree);
    all.pages(tree)?;
    all.completions();
    all.fleet();
    let dashboard = Contents::Tree("crates/admin/share/grafana-dashboard.json".to_owned());
    let to = "share/hugetools/grafana-dashboard.json";
    all.add(Part::Run, to, 0o644, dashboard);
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        let to = format!("share/doc/hugetools/{name}");
        all.add(Part::Run, &to, 0o644, Contents::Tree(name.to_owned()));
    }
    all.items.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(all.items)
}

struct Table<'a> {
    dirs: &'a Dirs,
    items: Vec<Item>,
}

impl Table<'_> {
    fn add(&mut self, part: Part, path: &str, mode: u32, contents: Contents) {
        let path = self.dirs.prefix.join(path);
        self.items.push(Item {
            part,
            path,
            mode,
            contents,
        });
    }

    /// The library for linking is in the loader's search path. The heap library has
    /// the same soname, so it is in a subdirectory that no loader searches. hugectl
    /// looks there for both.
    fn libraries(&mut self) {
        let lib = self.dirs.libdir.display().to_string();
        let library = Contents::Built("libhugetlbfs.so");
        self.add(
            Part::Run,
            &format!("{lib}/libhugetlbfs.so.0"),
            0o644,
            library,
        );
        let own = format!("{lib}/hugetools");
        let heap = Contents::Built("libhugetlbfs_heap.so");
        self.add(
            Part::Run,
            &format!("{own}/libhugetlbfs_heap.so"),
            0o644,
            heap,
        );
        let link = Contents::Link("../libhugetlbfs.so.0".to_owned());
        self.add(Part::Run, &format!("{own}/libhugetlbfs.so"), 0, link);
    }

    fn development(&mut self, tree: &Tree) {
        let lib = self.dirs.libdir.display().to_string();
        let link = Contents::Link("libhugetlbfs.so.0".to_owned());
        self.add(Part::Dev, &format!("{lib}/libhugetlbfs.so"), 0, link);
        let header = Contents::Tree("crates/preload/include/hugetlbfs.h".to_owned());
        self.add(Part::Dev, "include/hugetlbfs.h", 0o644, header);
        let pc = Contents::Text(text::pkg_config(self.dirs, tree.version()));
        self.add(
            Part::Dev,
            &format!("{lib}/pkgconfig/hugetlbfs.pc"),
            0o644,
            pc,
        );
        // The same directory as libhugetlbfs.
        for name in LINKERS {
            let link = Contents::Link("../../bin/ld.hugetlbfs".to_owned());
            self.add(Part::Dev, &format!("share/libhugetlbfs/{name}"), 0, link);
        }
    }

    /// Section 3 belongs to the development package.
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
            // A symlink is another name of a page.
            let from = match std::fs::read_link(entry.path()) {
                Ok(other) => Contents::Link(other.display().to_string()),
                Err(_) => Contents::Tree(format!("man/{name}")),
            };
            self.add(part, &to, 0o644, from);
        }
        Ok(())
    }

    /// What brings the file of hugeadm to many machines. The scripts are programs of Slurm.
    fn fleet(&mut self) {
        for (name, mode) in [
            ("ansible/hugetools/defaults/main.yml", 0o644),
            ("ansible/hugetools/meta/main.yml", 0o644),
            ("ansible/hugetools/tasks/main.yml", 0o644),
            ("kubernetes/hugetools.yaml", 0o644),
            ("slurm/epilog", 0o755),
            ("slurm/prolog", 0o755),
        ] {
            let from = Contents::Tree(format!("crates/admin/share/{name}"));
            self.add(Part::Run, &format!("share/hugetools/{name}"), mode, from);
        }
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
            ] {
                let from = Contents::Tree(format!("completions/{file}"));
                self.add(Part::Run, &to, 0o644, from);
            }
        }
    }
}
