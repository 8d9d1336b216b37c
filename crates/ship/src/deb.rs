//! Debian packages, built by `dpkg-deb`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::layout::{self, Contents, Dirs, Item, Part};
use crate::run;
use crate::stage::write_item;
use crate::text;
use crate::tree::Tree;

/// The version of libhugetlbfs' packages that ours provide. It must exceed Debian's revisions of
/// 2.24, because apt replaces an older provider.
const CLASSIC: &str = "2.24-99";

/// A Debian package.
#[derive(Debug)]
pub struct Package {
    /// Its name.
    pub name: &'static str,
    /// The part of the files it contains.
    pub part: Part,
    /// The packages that it replaces.
    pub replaces: &'static [&'static str],
    section: &'static str,
    description: &'static [&'static str],
}

/// Both packages.
pub const PACKAGES: [Package; 2] = [
    Package {
        name: "hugetools",
        part: Part::Run,
        replaces: &["libhugetlbfs-bin", "libhugetlbfs0"],
        section: "utils",
        description: text::DESCRIPTION,
    },
    Package {
        name: "hugetools-dev",
        part: Part::Dev,
        replaces: &["libhugetlbfs-dev"],
        section: "libdevel",
        description: text::DESCRIPTION_DEV,
    },
];

/// The directories of a Debian package.
pub fn dirs() -> Dirs {
    Dirs {
        prefix: "/usr".into(),
        libdir: format!("lib/{}", text::triplet()).into(),
        zsh: "zsh/vendor-completions",
        loader_searches_libdir: true,
    }
}

/// Lists the files of a package, including Debian's required ones in `/usr/share/doc`.
pub fn items(tree: &Tree, package: &Package) -> Result<Vec<Item>, Failure> {
    let is_licence = |item: &Item| item.path.to_string_lossy().contains("/LICENSE-");
    let mut items = layout::items(tree, &dirs())?;
    // Debian allows licences only in `copyright`.
    items.retain(|item| item.part == package.part && !is_licence(item));
    let doc = PathBuf::from("/usr/share/doc").join(package.name);
    let mut add = |path: PathBuf, text: String| {
        items.push(Item {
            part: package.part,
            path,
            mode: 0o644,
            contents: Contents::Text(text),
        });
    };
    if package.part == Part::Dev {
        add(doc.join("copyright"), text::copyright(tree)?);
    }
    let changelog = text::debian_changelog(tree, tree.version())?;
    add(doc.join("changelog"), changelog);
    Ok(items)
}

/// Builds both packages and returns their files.
pub fn make(tree: &Tree, output: &Path) -> Result<Vec<PathBuf>, Failure> {
    let machine = run::output_of(Command::new("dpkg").arg("--print-architecture"))?;
    let machine = machine.trim();
    let mut made = Vec::new();
    for package in &PACKAGES {
        let stage = output.join("stage").join(package.name);
        clear(&stage)?;
        for mut item in items(tree, package)? {
            link_to_compressed(&mut item);
            write_item(tree, &stage, &item)?;
        }
        compress(&stage)?;
        control(tree, package, machine, &stage)?;
        let file = format!("{}_{}_{machine}.deb", package.name, tree.version());
        let file = output.join(file);
        let mut command = Command::new("dpkg-deb");
        command.args(["--root-owner-group", "-Zxz", "--build"]);
        command.env("SOURCE_DATE_EPOCH", text::date(tree)?.to_string());
        run::output_of(command.arg(&stage).arg(&file))?;
        made.push(file);
    }
    clear(&output.join("stage"))?;
    Ok(made)
}

/// Removes a directory of build results.
pub(crate) fn clear(dir: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::of(dir, error)),
        _ => Ok(()),
    }
}

/// Appends .gz to links among man pages, because man pages are compressed.
fn link_to_compressed(item: &mut Item) {
    if let (Contents::Link(to), true) = (
        &mut item.contents,
        item.path.to_string_lossy().contains("/man/"),
    ) {
        to.push_str(".gz");
        item.path.as_mut_os_string().push(".gz");
    }
}

/// Compresses man pages and changelogs, without dates, for reproducible builds.
fn compress(stage: &Path) -> Result<(), Failure> {
    let mut gzip = Command::new("find");
    gzip.arg(stage.join("usr/share"));
    gzip.args(["-type", "f", "("]);
    gzip.args(["-path", "*/man/*", "-o", "-iname", "changelog*", ")"]);
    gzip.args(["-exec", "gzip", "-9n", "{}", "+"]);
    run::output_of(&mut gzip).map(|_| ())
}

/// Writes the files in `DEBIAN`.
fn control(tree: &Tree, package: &Package, machine: &str, stage: &Path) -> Result<(), Failure> {
    let depends = match package.part {
        Part::Run => depends(stage)?,
        Part::Dev => format!("hugetools (= {})", tree.version()),
    };
    let size = run::output_of(
        Command::new("du")
            .args(["-sk", "--apparent-size"])
            .arg(stage),
    )?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let sums = run::output_of(Command::new("sh").current_dir(stage).args([
        "-c",
        "find * -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum",
    ]))?;
    let text = fields(tree, package, machine, &depends, size);
    let mut files = vec![("control", text), ("md5sums", sums)];
    if package.part == Part::Run {
        files.push(("triggers", "activate-noawait ldconfig\n".to_owned()));
        let version = tree.version();
        files.push((
            "shlibs",
            format!("libhugetlbfs 0 hugetools (>= {version})\n"),
        ));
    }
    for (name, text) in files {
        let item = Item {
            part: package.part,
            path: format!("/DEBIAN/{name}").into(),
            mode: 0o644,
            contents: Contents::Text(text),
        };
        write_item(tree, stage, &item)?;
    }
    Ok(())
}

/// Formats the `control` file.
pub fn fields(tree: &Tree, package: &Package, machine: &str, depends: &str, size: &str) -> String {
    let others = package.replaces.join(", ");
    let provides = package.replaces.iter();
    let provides: Vec<String> = provides
        .map(|name| format!("{name} (= {CLASSIC})"))
        .collect();
    let description: String = package
        .description
        .iter()
        .map(|line| match *line {
            "" => " .\n".to_owned(),
            line => format!(" {line}\n"),
        })
        .collect();
    let kind = match package.part {
        Part::Run => "",
        Part::Dev => " - development files",
    };
    format!(
        "Package: {}\nVersion: {}\nArchitecture: {machine}\nMaintainer: {}\n\
         Installed-Size: {size}\nDepends: {depends}\nProvides: {}\nConflicts: {others}\n\
         Replaces: {others}\nSection: {}\nPriority: optional\nHomepage: {}\n\
         Description: {}{kind}\n{description}",
        package.name,
        tree.version(),
        text::MAINTAINER,
        provides.join(", "),
        package.section,
        text::HOMEPAGE,
        text::SUMMARY,
    )
}

/// Asks dpkg-shlibdeps for the packages that the programs need.
fn depends(stage: &Path) -> Result<String, Failure> {
    let bin = stage.join("usr/bin");
    let programs = fs::read_dir(&bin).map_err(|error| Failure::of(&bin, error))?;
    // dpkg-shlibdeps requires a source package's `debian/control`.
    let source = stage.with_extension("source");
    let debian = source.join("debian");
    let control = debian.join("control");
    fs::create_dir_all(&debian)
        .and_then(|()| {
            fs::write(
                &control,
                "Source: hugetools\n\nPackage: hugetools\nArchitecture: any\n",
            )
        })
        .map_err(|error| Failure::of(&control, error))?;
    let mut command = Command::new("dpkg-shlibdeps");
    command.current_dir(&source).arg("-O");
    for program in programs.flatten() {
        let path = std::path::absolute(program.path());
        command.arg(path.map_err(|error| Failure::of(&bin, error))?);
    }
    let output = run::output_of(&mut command)?;
    clear(&source)?;
    let depends = output
        .lines()
        .find_map(|line| line.strip_prefix("shlibs:Depends="));
    let missing = || Failure::new("dpkg-shlibdeps finds no dependencies");
    depends.map(str::to_owned).ok_or_else(missing)
}
