//! The house: which file knows which, read from the sources. A newcomer finds what
//! decides something below what uses it, never beside it.
#![expect(clippy::disallowed_methods, reason = "reads files of its own")]

mod arrows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use arrows::{Arrows, arrows};

/// All crates.
const CRATES: [&str; 11] = [
    "admin", "contract", "ctl", "elf", "heap", "kernfs", "link", "model", "pages", "preload",
    "ship",
];

/// Those whose `lib.rs` is a list of wings, from the ground up.
const IN_WINGS: [&str; 5] = ["admin", "heap", "model", "pages", "preload"];

/// So many arrows there may be between the wings of `pages`.
const MOST_ARROWS: usize = 60;

/// So many rooms one folder may have.
const MOST_ROOMS: usize = 16;

fn sources(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("crates/{name}/src"))
}

/// The wings of a crate in the order of the table in its `lib.rs`, the ground first.
fn wings(name: &str) -> Vec<String> {
    let text = fs::read_to_string(sources(name).join("lib.rs")).unwrap();
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("//! | wing |"))
        .skip(2);
    let rows = table.map_while(|line| line.strip_prefix("//! | "));
    let names: Vec<String> = rows
        .map(|row| row.split('`').nth(1).unwrap().to_owned())
        .collect();
    assert!(names.len() > 3, "{name}: {names:?}");
    names
}

fn wing(module: &str) -> &str {
    module.split("::").next().unwrap()
}

/// What is left when every file that knows none of the others was taken away, again
/// and again: the files of circles, and those above them.
fn circles(mut arrows: Arrows) -> Arrows {
    loop {
        let ground: BTreeSet<String> = arrows
            .iter()
            .filter(|(_, known)| known.iter().all(|other| !arrows.contains_key(other)))
            .map(|(module, _)| module.clone())
            .collect();
        if ground.is_empty() {
            return arrows;
        }
        arrows.retain(|module, _| !ground.contains(module));
    }
}

#[test]
fn circles_are_found() {
    let arrows = |pairs: &[(&str, &str)]| -> Arrows {
        let mut all = Arrows::new();
        for (from, to) in pairs {
            all.entry((*to).to_owned()).or_default();
            let known = all.entry((*from).to_owned()).or_default();
            known.insert((*to).to_owned());
        }
        all
    };
    assert!(circles(arrows(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let found = circles(arrows(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
}

/// Whether a file is the head of the folder that the other one is in. They are one
/// family: the head holds what all of them share.
fn is_head_of(head: &str, module: &str) -> bool {
    let below = module.strip_prefix(head);
    below.is_some_and(|below| below.starts_with("::"))
}

fn without_families(arrows: Arrows) -> Arrows {
    let without = |(module, mut known): (String, BTreeSet<String>)| {
        known.retain(|other| !is_head_of(other, &module) && !is_head_of(&module, other));
        (module, known)
    };
    arrows.into_iter().map(without).collect()
}

#[test]
fn no_two_files_know_each_other() {
    let wiring = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for sources in CRATES.map(sources).into_iter().chain([wiring]) {
        let found = circles(without_families(arrows(&sources)));
        assert!(found.is_empty(), "{}: {found:#?}", sources.display());
    }
}

/// The arrows between the wings of a crate, each with the files that have it.
fn between_wings(name: &str) -> BTreeMap<(String, String), Vec<String>> {
    let wings = wings(name);
    let floor = |module: &str| {
        let found = wings.iter().position(|name| name == wing(module));
        found.unwrap_or_else(|| panic!("{name}: {module} is in no wing of lib.rs"))
    };
    let mut between: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (module, known) in arrows(&sources(name)) {
        assert!(floor(&module) < wings.len());
        for other in known.iter().filter(|other| wing(other) != wing(&module)) {
            assert!(
                floor(other) < floor(&module),
                "{name}: {module} knows {other}"
            );
            let pair = (wing(&module).to_owned(), wing(other).to_owned());
            let arrow = format!("{module} -> {other}");
            between.entry(pair).or_default().push(arrow);
        }
    }
    between
}

#[test]
fn a_wing_knows_those_above_it_in_the_list_only() {
    for name in IN_WINGS {
        let between = between_wings(name);
        assert!(!between.is_empty(), "{name}");
    }
}

#[test]
fn few_arrows_lead_from_wing_to_wing() {
    let between = between_wings("pages");
    assert!(
        between.len() <= MOST_ARROWS,
        "{} {between:#?}",
        between.len()
    );
}

/// Where code runs inside of strangers' programs, its locks and its forks are told, too.
#[test]
fn a_folder_begins_with_its_invariants_and_locks() {
    let inside = ["heap", "pages", "preload"];
    for name in IN_WINGS {
        let has_folder = |wing: &String| sources(name).join(wing).is_dir();
        for wing in wings(name).into_iter().filter(has_folder) {
            let text = fs::read_to_string(sources(name).join(format!("{wing}.rs"))).unwrap();
            let page = text.lines().take_while(|line| line.starts_with("//!"));
            let page: Vec<&str> = page.collect();
            let subjects: &[&str] = match inside.contains(&name) {
                true => &["**Invariants.** ", "**Locks.** ", "**At a fork.** "],
                false => &["**Invariants.** "],
            };
            for subject in subjects {
                let start = format!("//! {subject}");
                let is_told = page.iter().any(|line| line.starts_with(&start));
                assert!(is_told, "{name}/{wing}.rs lacks {subject:?}");
            }
        }
    }
}

/// A file and the folder of its parts are one room; `lib.rs` and its like are none.
fn rooms(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let rooms = entries.filter(|path| path.is_dir() || path.extension().is_some_and(|e| e == "rs"));
    let names = rooms.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names
        .filter(|name| !["lib", "main", "mod"].contains(&name.as_str()))
        .collect()
}

#[test]
fn no_folder_has_more_rooms_than_one_remembers() {
    fn look(folder: &Path) {
        let rooms = rooms(folder);
        let count = rooms.len();
        assert!(
            count <= MOST_ROOMS,
            "{}: {count}: {rooms:?}",
            folder.display()
        );
        let folders = rooms.iter().map(|name| folder.join(name));
        folders
            .filter(|path| path.is_dir())
            .for_each(|path| look(&path));
    }
    let others = ["src", "tests"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
    let all = CRATES.map(sources).into_iter().chain(others);
    all.for_each(|folder| look(&folder));
}

/// The folders of hugectl, as files: what a file of one knows of another one.
#[test]
fn no_two_phases_of_hugectl_know_each_other() {
    let mut phases = Arrows::new();
    for (module, known) in arrows(&sources("ctl")) {
        let others = known.iter().map(|other| wing(other).to_owned());
        let phase = phases.entry(wing(&module).to_owned()).or_default();
        phase.extend(others.filter(|other| other != wing(&module)));
    }
    let found = circles(phases);
    assert!(found.is_empty(), "{found:#?}");
}

/// `--dry-run` is not calling apply: nothing of a look or a plan leads there, so that what
/// changes something cannot be called from them.
#[test]
fn nothing_but_the_wiring_leads_to_what_changes_something() {
    let arrows = arrows(&sources("ctl"));
    let is_of_apply = |module: &str| wing(module) == "apply";
    assert!(arrows.keys().any(|module| is_of_apply(module)));
    for (module, known) in arrows.iter().filter(|(module, _)| !is_of_apply(module)) {
        let leads = known.iter().find(|other| is_of_apply(other));
        assert_eq!(leads, None, "{module} leads to apply");
    }
}

/// What CONTRIBUTING names is there; a file alone stands beside the one before it.
#[test]
fn what_the_map_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let mut found = 0;
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        let mut before = PathBuf::new();
        for name in row
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|name| name.ends_with(".rs"))
        {
            let above = before.ancestors().skip(1);
            let mut places = above.map(|dir| dir.join(name)).filter(|path| path.exists());
            let path = match name.starts_with("crates/") || name.starts_with("tests/") {
                true => Some(root.join(name)),
                false => places
                    .next()
                    .or_else(|| Some(root.join("crates").join(name))),
            };
            before = path.unwrap();
            assert!(before.exists(), "{row}: {name}");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}
