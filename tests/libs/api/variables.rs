//! The variables of the C interface, and messages about invalid values.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use super::{Built, With, program, run};
use crate::support::bless::compare;
use crate::support::live::{machine, skip};
use crate::support::needs;
use crate::support::program::{Libc, build_as};
use crate::support::tool::{Ran, copy};

/// Variables of a run, and its scene.
const RUNS: &[(&[(&str, &str)], &str)] = &[
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "rubbish")], "files"),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "rubbish")], "secure"),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "SIZEfoo")], "secure"),
    (&[("HUGETLB_DEFAULT_PAGE_SIZE", "3M")], "secure"),
    (
        &[("HUGETLB_PATH", "/tmp:/no/such/path::MOUNT:MOUNT")],
        "files",
    ),
    (
        &[
            ("HUGETLB_PATH", "/tmp"),
            ("HUGETLB_FEATURES", "no_map_hugetlb"),
        ],
        "files",
    ),
    (&[("HUGETLB_FEATURES", "no_such_feature")], "files"),
    (&[("HUGETLB_FEATURES", "no_map")], "files"),
    (&[("HUGETLB_NO_RESERVE", "1")], "files"),
    (&[("HUGETLB_SHM", "rubbish")], "shared"),
    (&[("HUGETLB_SHARE", "2")], "files"),
    (&[("HUGETLB_MORECORE_HEAPBASE", "rubbish")], "files"),
    (&[("HUGETLB_MORECORE", "yes")], "files"),
    (
        &[
            ("HUGETLB_RESTRICT_EXE", "other"),
            ("HUGETLB_DEFAULT_PAGE_SIZE", "rubbish"),
        ],
        "files",
    ),
    (
        &[
            ("HUGETLB_VERBOSE", "0"),
            ("HUGETLB_DEFAULT_PAGE_SIZE", "rubbish"),
        ],
        "files",
    ),
];

#[test]
fn variables_are_obeyed_or_reported() {
    let Some(live) = machine("variables of the C interface") else {
        return;
    };
    live.set_pool(4);
    let mount = live.global_mount();
    let size = live.default_size();
    let Some(program) = program("api", Built::Here, Libc::Glibc) else {
        return;
    };
    let mut transcript = String::new();
    for (variables, scene) in RUNS {
        let now: Vec<(&str, String)> = variables
            .iter()
            .map(|(name, value)| (*name, value.replace("MOUNT", &mount)))
            .map(|(name, value)| (name, value.replace("SIZE", &size.to_string())))
            .collect();
        let now: Vec<(&str, &str)> = now.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let ran = run(&program, With::Ours, &now, &[scene]);
        for (name, value) in *variables {
            write!(transcript, "{name}={value} ").unwrap();
        }
        write!(transcript, "api {scene}\n{}", ran.out).unwrap();
        for line in ran.err.lines() {
            writeln!(transcript, "2> {line}").unwrap();
        }
        transcript += "\n";
    }
    let transcript = transcript
        .replace(&mount, "MOUNT")
        .replace(&(2 * size.get()).to_string(), "twice SIZE")
        .replace(&size.get().to_string(), "SIZE")
        .replace(&size.to_string(), "SIZE");
    compare("tests/expected/libs/api-variables.txt", &transcript).unwrap();
}

#[test]
fn every_line_names_its_process_at_verbosity_4() {
    let Some(program) = program("api", Built::Here, Libc::Glibc) else {
        return;
    };
    let names = nix::sys::utsname::uname().unwrap();
    let prefix = format!("libhugetlbfs [{}:", names.nodename().to_str().unwrap());
    for variable in [("HUGETLB_DEBUG", ""), ("HUGETLB_VERBOSE", "4")] {
        let variables = [variable, ("HUGETLB_PATH", "/tmp")];
        let ran = run(&program, With::Ours, &variables, &["secure"]);
        assert!(ran.err.contains("warning: HUGETLB_PATH: /tmp"), "{ran:?}");
        let all = ran.err.lines().all(|line| line.starts_with(&prefix));
        assert!(all, "{ran:?}");
    }
}

#[test]
fn another_default_size_needs_a_mount() {
    let test = "another default size";
    let Some(live) = machine(test) else {
        return;
    };
    let default = live.default_size();
    let Some(other) = live
        .now()
        .pools
        .iter()
        .map(|pool| pool.size)
        .find(|size| *size != default)
    else {
        return skip(test, "this machine has one size of huge pages").unwrap_or(());
    };
    let program = program("api", Built::Here, Libc::Glibc).unwrap();
    let value = other.to_string();
    let variables = [("HUGETLB_DEFAULT_PAGE_SIZE", value.as_str())];
    let ran = run(&program, With::Ours, &variables, &["secure"]);
    assert_eq!(ran.out, format!("secure 0, size {}\n", default.get()));
    assert!(ran.err.contains("--create-global-mounts"), "{ran:?}");
    live.global_mount();
    let ran = run(&program, With::Ours, &variables, &["secure"]);
    assert_eq!(
        (ran.out, ran.err),
        (format!("secure 0, size {}\n", other.get()), String::new())
    );
    let ran = run(&program, With::Ours, &variables, &["paths"]);
    let path = format!("/var/lib/hugetlbfs/global/pagesize-{other}");
    assert!(
        ran.out
            .contains(&format!("hugetlbfs_find_path() = {path}\n")),
        "{ran:?}"
    );
}

#[test]
fn mounts_of_other_users_are_not_used() {
    let Some(live) = machine("mounts of others") else {
        return;
    };
    let ran = live.hugeadm(&["--create-mounts"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let Some(place) = Place::new("mounts of others", "api") else {
        return;
    };
    let path = format!("/var/lib/hugetlbfs/pagesize-{}", live.default_size());
    let ran = run(&place.program, With::System, &[], &["paths"]);
    assert!(
        ran.out.contains(&format!("find_path() = {path}\n")),
        "{ran:?}"
    );
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let output = command.arg(&place.program).arg("paths").output();
    let Ok(output) = output else {
        return skip("mounts of others", "there is no setpriv").unwrap_or(());
    };
    let ran: Ran = output.into();
    assert!(ran.out.contains("find_path() = NULL\n"), "{ran:?}");
}

#[test]
fn a_set_user_id_program_ignores_all_variables() {
    let test = "a set-user-id program";
    if !needs::root(test) {
        return;
    }
    let Some(place) = Place::new(test, "api") else {
        return;
    };
    let variables = [
        ("HUGETLB_DEFAULT_PAGE_SIZE", "rubbish"),
        ("HUGETLB_VERBOSE", "4"),
        ("HUGETLB_PATH", "/tmp"),
    ];
    let plain = run(&place.program, With::System, &variables, &["secure"]);
    assert_eq!(plain.out, "secure 0, size -1\n", "{plain:?}");
    chown(&place.program, Some(65534), None).unwrap();
    fs::set_permissions(&place.program, fs::Permissions::from_mode(0o4755)).unwrap();
    let ran = run(&place.program, With::System, &variables, &["secure"]);
    if ran.out.starts_with("secure 0") {
        return skip(test, "this file system has no set-user-id programs").unwrap_or(());
    }
    assert!(ran.out.starts_with("secure 1, size "), "{ran:?}");
    assert!(!ran.out.contains("-1") && ran.err.is_empty(), "{ran:?}");
}

/// A program and its library in a directory that all users can reach.
struct Place {
    _dir: tempfile::TempDir,
    program: std::path::PathBuf,
}

impl Place {
    fn new(test: &str, name: &str) -> Option<Place> {
        let dir = tempfile::tempdir().unwrap();
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(dir.path(), open.clone()).unwrap();
        let library = dir.path().join("libhugetlbfs.so.0");
        copy(env!("HUGETOOLS_PRELOAD"), &library);
        fs::set_permissions(&library, open).unwrap();
        let built = Place::build(dir.path(), name)?;
        let program = dir.path().join(name);
        copy(built, &program);
        if dir.path().to_str().is_none() {
            return skip(test, "the temporary directory has an odd name");
        }
        Some(Place { _dir: dir, program })
    }

    fn build(dir: &Path, name: &str) -> Option<std::path::PathBuf> {
        let include = crate::support::bless::project("crates/preload/include");
        let flags = [
            format!("-I{}", include.display()),
            format!("-Wl,--no-as-needed,-rpath,{}", dir.display()),
            format!("-L{}", With::Ours.place()?.display()),
            "-lhugetlbfs".to_owned(),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let new = format!("{name}-in-{}", dir.file_name()?.to_str()?);
        build_as(&new, name, Libc::Glibc, &flags)
    }
}
