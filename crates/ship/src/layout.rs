//! The table of installed files.

use std::path::{Path, PathBuf};

use hugetools::hugectl::BUNDLE;

use crate::failure::Failure;
use crate::text;
use crate::tree::Tree;

/// The directories of an installation or package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// The directory above all installed files.
    pub prefix: PathBuf,
    /// The library directory below the prefix: `lib`, `lib64`, `lib/x86_64-linux-gnu`.
    pub libdir: PathBuf,
    /// The directory of zsh completions below `share`.
    pub zsh: &'static str,
    /// Whether the loader is known to search `libdir`. If not, `hugetlbfs.pc` adds it as rpath.
    pub loader_searches_libdir: bool,
}

/// The package that a file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Programs, libraries and their documentation: `hugetools`.
    Run,
    /// Development files: `hugetools-dev`.
    Dev,
}

/// The source of a file's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// A copy of a program that was built.
    Built(&'static str),
    /// One of the libraries that hugectl contains. Those that cargo puts beside the programs are
    /// built with other flags.
    Library(&'static [u8]),
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

/// Deployment files for clusters, and a Grafana dashboard for `hugeadm --metrics`.
const SHARED: [&str; 7] = [
    "ansible/hugetools/defaults/main.yml",
    "ansible/hugetools/meta/main.yml",
    "ansible/hugetools/tasks/main.yml",
    "grafana-dashboard.json",
    "kubernetes/hugetools.yaml",
    "slurm/epilog",
    "slurm/prolog",
];

/// Returns all files to install, sorted by path. Fails if `man` cannot be read.
pub fn items(tree: &Tree, dirs: &Dirs) -> Result<Vec<Item>, Failure> {
    let Dirs { prefix, zsh, .. } = dirs;
    let lib = dirs.libdir.display();
    let mut items = Vec::new();
    let mut add = |part: Part, path: String, contents: Contents| {
        let is_program = path.starts_with("bin/") || path.contains("/slurm/");
        items.push(Item {
            part,
            path: prefix.join(path),
            mode: if is_program { 0o755 } else { 0o644 },
            contents,
        });
    };
    let link = |to: &str| Contents::Link(to.to_owned());
    for (built, name) in PROGRAMS {
        add(Part::Run, format!("bin/{name}"), Contents::Built(built));
    }
    // Both libraries have the same soname. The loader must find only the first, so the heap library
    // is in a subdirectory. hugectl searches the subdirectory first, hence the link.
    for (path, contents) in [
        ("libhugetlbfs.so.0", Contents::Library(BUNDLE.preload)),
        (
            "hugetools/libhugetlbfs_heap.so",
            Contents::Library(BUNDLE.heap),
        ),
        ("hugetools/libhugetlbfs.so", link("../libhugetlbfs.so.0")),
    ] {
        add(Part::Run, format!("{lib}/{path}"), contents);
    }
    for name in SHARED {
        let from = Contents::Tree(format!("crates/admin/share/{name}"));
        add(Part::Run, format!("share/hugetools/{name}"), from);
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        let to = format!("share/doc/hugetools/{name}");
        add(Part::Run, to, Contents::Tree(name.to_owned()));
    }
    let copyright = "share/doc/hugetools/copyright".to_owned();
    add(Part::Run, copyright, Contents::Text(text::copyright(tree)?));
    let header = Contents::Tree("crates/preload/include/hugetlbfs.h".to_owned());
    let config = Contents::Text(pkg_config(dirs, tree.version()));
    for (path, contents) in [
        (format!("{lib}/libhugetlbfs.so"), link("libhugetlbfs.so.0")),
        (format!("{lib}/pkgconfig/hugetlbfs.pc"), config),
        ("include/hugetlbfs.h".to_owned(), header),
    ] {
        add(Part::Dev, path, contents);
    }
    // The directory for `gcc -B` has the name that build scripts for libhugetlbfs expect.
    for name in LINKERS {
        let to = link("../../bin/ld.hugetlbfs");
        add(Part::Dev, format!("share/libhugetlbfs/{name}"), to);
    }
    for (part, path, contents) in completions(zsh).chain(man_pages(tree)?) {
        add(part, path, contents);
    }
    items.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(items)
}

fn completions(zsh: &str) -> impl Iterator<Item = (Part, String, Contents)> {
    let files = PROGRAMS.iter().flat_map(move |(_, name)| {
        [
            (
                format!("{name}.bash"),
                format!("bash-completion/completions/{name}"),
            ),
            (format!("_{name}"), format!("{zsh}/_{name}")),
            (
                format!("{name}.fish"),
                format!("fish/vendor_completions.d/{name}.fish"),
            ),
        ]
    });
    files.map(|(from, to)| {
        let from = Contents::Tree(format!("completions/{from}"));
        (Part::Run, format!("share/{to}"), from)
    })
}

fn man_pages(tree: &Tree) -> Result<Vec<(Part, String, Contents)>, Failure> {
    let dir = tree.path("man");
    let entries = std::fs::read_dir(&dir).map_err(|error| Failure::of(&dir, error))?;
    let page = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let section = name.rsplit('.').next().unwrap_or_default();
        let part = if section == "3" { Part::Dev } else { Part::Run };
        let from = match std::fs::read_link(entry.path()) {
            Ok(target) => Contents::Link(target.display().to_string()),
            Err(_) => Contents::Tree(format!("man/{name}")),
        };
        (part, format!("share/man/man{section}/{name}"), from)
    };
    Ok(entries.flatten().map(page).collect())
}

/// Formats `hugetlbfs.pc`.
fn pkg_config(dirs: &Dirs, version: &str) -> String {
    let rpath = match dirs.loader_searches_libdir {
        true => "",
        false => "-Wl,-rpath,${libdir} ",
    };
    let lib = Path::new("${prefix}").join(&dirs.libdir);
    format!(
        "prefix={}\nlibdir={}\nincludedir=${{prefix}}/include\n\n\
         Name: hugetlbfs\nDescription: Huge pages for C programs\nURL: {}\n\
         Version: {version}\nLibs: -L${{libdir}} {rpath}-lhugetlbfs\n\
         Cflags: -I${{includedir}}\n",
        dirs.prefix.display(),
        lib.display(),
        text::HOMEPAGE,
    )
}
