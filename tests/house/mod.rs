//! The dependencies between files, read from the sources: arrows point down only.
#![expect(clippy::disallowed_methods, reason = "reads files of its own")]

mod arrows;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use arrows::{Arrows, arrows};

const CRATES: [&str; 12] = [
    "admin", "compare", "contract", "ctl", "elf", "heap", "kernfs", "link", "model", "pages",
    "preload", "ship",
];

/// Crates whose `lib.rs` has a table of their modules, the lowest first.
const LAYERED: [&str; 5] = ["admin", "heap", "model", "pages", "preload"];

/// The largest number of modules in a folder.
const MOST_MODULES: usize = 16;

fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(name: &str) -> PathBuf {
    project().join(format!("crates/{name}/src"))
}

/// Returns the modules in the table of a crate's `lib.rs`, the lowest first.
fn layers(name: &str) -> Vec<String> {
    let text = fs::read_to_string(sources(name).join("lib.rs")).unwrap();
    let table = text.lines().skip_while(|line| *line != "//! |---|---|");
    let rows = table.skip(1).map_while(|line| line.strip_prefix("//! | "));
    let names: Vec<String> = rows
        .map(|row| row.split('`').nth(1).unwrap().to_owned())
        .collect();
    assert!(names.len() > 3, "{name}: {names:?}");
    names
}

/// Returns the top-level module.
fn layer(module: &str) -> &str {
    module.split("::").next().unwrap()
}

/// Returns the files that are in a cycle, or depend on one.
fn cycles(mut arrows: Arrows) -> Arrows {
    loop {
        let lowest: BTreeSet<String> = arrows
            .iter()
            .filter(|(_, known)| known.iter().all(|other| !arrows.contains_key(other)))
            .map(|(module, _)| module.clone())
            .collect();
        if lowest.is_empty() {
            return arrows;
        }
        arrows.retain(|module, _| !lowest.contains(module));
    }
}

#[test]
fn cycles_are_found() {
    let arrow = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let arrows = Arrows::from([arrow("a", "b"), arrow("b", "c"), arrow("c", "d")]);
    assert!(cycles(arrows.clone()).is_empty());
    let mut cyclic = arrows;
    cyclic.extend([arrow("c", "b")]);
    assert_eq!(cycles(cyclic).keys().collect::<Vec<_>>(), ["a", "b", "c"]);
}

/// Removes arrows between a file and the modules below it, which are allowed.
fn without_parents(arrows: Arrows) -> Arrows {
    let is_above = |file: &str, module: &str| {
        let rest = module.strip_prefix(file);
        rest.is_some_and(|rest| rest.starts_with("::"))
    };
    let without = |(module, mut known): (String, BTreeSet<String>)| {
        known.retain(|other| !is_above(other, &module) && !is_above(&module, other));
        (module, known)
    };
    arrows.into_iter().map(without).collect()
}

#[test]
fn files_have_no_cycles() {
    for sources in CRATES
        .map(sources)
        .into_iter()
        .chain([project().join("src")])
    {
        let found = cycles(without_parents(arrows(&sources)));
        assert!(found.is_empty(), "{}: {found:#?}", sources.display());
    }
}

#[test]
fn a_module_uses_only_those_above_it_in_the_table() {
    for name in LAYERED {
        let layers = layers(name);
        let height = |module: &str| {
            let found = layers.iter().position(|name| name == layer(module));
            found.unwrap_or_else(|| panic!("{name}: {module} is not in the table of lib.rs"))
        };
        for (module, known) in arrows(&sources(name)) {
            let mut known = known.iter();
            let higher = known.find(|other| height(other) > height(&module));
            assert_eq!(higher, None, "{name}: {module}");
        }
    }
}

/// Returns the modules in a folder, without `lib.rs`, `main.rs` and `mod.rs`.
fn modules(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let modules = paths.filter(|path| path.is_dir() || path.extension().is_some_and(|e| e == "rs"));
    let names = modules.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names
        .filter(|name| !["lib", "main", "mod"].contains(&name.as_str()))
        .collect()
}

#[test]
fn no_folder_has_too_many_modules() {
    let others = ["src", "tests"].map(|name| project().join(name));
    let mut folders: Vec<PathBuf> = CRATES.map(sources).into_iter().chain(others).collect();
    while let Some(folder) = folders.pop() {
        let found = modules(&folder);
        let count = found.len();
        assert!(count <= MOST_MODULES, "{}: {found:?}", folder.display());
        let below = found.iter().map(|name| folder.join(name));
        folders.extend(below.filter(|path| path.is_dir()));
    }
}

#[test]
fn the_phases_of_hugectl_have_no_cycle() {
    let mut phases = Arrows::new();
    for (module, known) in arrows(&sources("ctl")) {
        let others = known.iter().map(|other| layer(other).to_owned());
        let phase = phases.entry(layer(&module).to_owned()).or_default();
        phase.extend(others.filter(|other| other != layer(&module)));
    }
    let found = cycles(phases);
    assert!(found.is_empty(), "{found:#?}");
}

/// `--dry-run` must not be able to call `apply`.
#[test]
fn no_phase_of_hugectl_uses_apply() {
    let arrows = arrows(&sources("ctl"));
    let is_apply = |module: &str| layer(module) == "apply";
    assert!(arrows.keys().any(|module| is_apply(module)));
    for (module, known) in arrows.iter().filter(|(module, _)| !is_apply(module)) {
        let found = known.iter().find(|other| is_apply(other));
        assert_eq!(found, None, "{module}");
    }
}

/// Names are relative to the project, to `crates`, or to a folder above the row's previous file.
#[test]
fn files_named_in_contributing_exist() {
    let text = fs::read_to_string(project().join("CONTRIBUTING.md")).unwrap();
    let mut found = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let mut before = PathBuf::new();
        let names = row.split('`').skip(1).step_by(2);
        for name in names.filter(|name| name.ends_with(".rs")) {
            let mut beside = before.ancestors().skip(1).map(|dir| dir.join(name));
            let path = match name.starts_with("crates/") || name.starts_with("tests/") {
                true => None,
                false => beside.find(|path| path.exists()),
            };
            let in_crates = [project().join(name), project().join("crates").join(name)];
            let path = path.or_else(|| in_crates.into_iter().find(|path| path.exists()));
            before = path.unwrap_or_else(|| panic!("{row}: {name}"));
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}
