//! The library that hugectl preloads.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hugetools_elf::Ident;

use super::place::{Place, as_nobody};
use crate::support::needs;
use crate::support::tool::Run;

/// Returns the value of `LD_PRELOAD` in a dry run.
fn preloaded(place: &Place, line: &str) -> Option<String> {
    let done = place.shell(line);
    assert_eq!(done.status, 0, "{}", done.err);
    let out = place.normalize(&done.out);
    let line = out
        .lines()
        .find_map(|line| line.strip_prefix("LD_PRELOAD="))?;
    Some(line.trim_matches('\'').to_owned())
}

const DRY_RUN: &str = "hugectl --dry-run --sysroot pool --shm true";

#[test]
fn an_installed_library_is_found_in_the_prefix() {
    let place = Place::new();
    let triplet = format!("{}-linux-gnu", Ident::native().directory_name());
    for dir in [
        format!("lib/{triplet}"),
        "lib64".to_owned(),
        "lib/hugetools".to_owned(),
    ] {
        let place = Place::new();
        let target = place.path("prefix").join(&dir);
        fs::create_dir_all(&target).unwrap();
        let name = "libhugetlbfs.so";
        fs::rename(place.path("prefix/lib").join(name), target.join(name)).unwrap();
        assert_eq!(
            preloaded(&place, DRY_RUN),
            Some(format!("DIR/prefix/{dir}/{name}"))
        );
    }
    assert_eq!(
        preloaded(&place, DRY_RUN).as_deref(),
        Some("DIR/prefix/lib/libhugetlbfs.so")
    );
}

#[test]
fn other_libraries_of_that_name_are_ignored() {
    let place = Place::new();
    let others = place.others_library("others");
    let first = place.path("prefix/lib64/libhugetlbfs.so");
    fs::create_dir_all(first.parent().unwrap()).unwrap();
    fs::copy(others, &first).unwrap();
    let ours = Some("DIR/prefix/lib/libhugetlbfs.so");
    assert_eq!(preloaded(&place, DRY_RUN).as_deref(), ours);
    fs::write(&first, "no library at all").unwrap();
    assert_eq!(preloaded(&place, DRY_RUN).as_deref(), ours);
}

#[test]
fn a_library_that_others_can_change_is_not_taken() {
    let place = Place::new();
    let library = place.path("prefix/lib/libhugetlbfs.so");
    fs::set_permissions(&library, fs::Permissions::from_mode(0o666)).unwrap();
    let found = preloaded(&place, DRY_RUN);
    assert_ne!(found.as_deref(), Some("DIR/prefix/lib/libhugetlbfs.so"));
    if needs::root("a_library_that_others_can_change_is_not_taken") {
        fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
        place.shell("chown 65534 prefix/lib/libhugetlbfs.so");
        assert_ne!(
            preloaded(&place, DRY_RUN).as_deref(),
            Some("DIR/prefix/lib/libhugetlbfs.so")
        );
        // The owner may use it.
        let dry = ["--dry-run", "--sysroot", "pool", "--shm", "true"];
        let done = as_nobody(&place.command(&dry)).ran();
        assert!(
            place
                .normalize(&done.out)
                .contains("DIR/prefix/lib/libhugetlbfs.so"),
            "{done:?}"
        );
    }
}

#[test]
fn a_path_with_a_blank_is_not_used() {
    let place = Place::new();
    fs::rename(place.path("prefix"), place.path("pre fix")).unwrap();
    let line = DRY_RUN.replace("hugectl", "'pre fix/bin/hugectl'");
    let found = preloaded(&place, &line).unwrap_or_default();
    assert!(!found.contains("pre fix"), "{found}");
    let given = place.shell("'pre fix/bin/hugectl' --library-path 'pre fix' --shm true");
    assert_eq!(given.status, 125);
    assert!(given.err.contains("cannot carry a blank"), "{}", given.err);
}
