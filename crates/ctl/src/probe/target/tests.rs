use super::*;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

struct Dir(tempfile::TempDir);

impl Dir {
    fn new() -> Dir {
        Dir(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, contents: &[u8], mode: u32) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(&path).unwrap();
        file.write_all(contents).unwrap();
        let permissions = std::fs::Permissions::from_mode(mode);
        file.set_permissions(permissions).unwrap();
        path
    }
}

fn caller(path: &str) -> Caller {
    Caller::this([("PATH".into(), path.into())])
}

fn find(name: impl AsRef<OsStr>, caller: &Caller) -> Result<Target, Failure> {
    open(name.as_ref(), caller).map(|opened| opened.target)
}

#[test]
fn scripts_lead_to_their_interpreter() {
    let dir = Dir::new();
    for (line, program) in [
        ("#!/bin/sh\n", "/bin/sh"),
        ("#!/usr/bin/env perl\n", "/usr/bin/perl"),
        ("#!/usr/bin/env -S perl -w\n", "/usr/bin/perl"),
        ("#!/usr/bin/env -i perl\n", "/usr/bin/env"),
        ("echo hello\n", SHELL),
    ] {
        let script = dir.file("script", line.as_bytes(), 0o755);
        let target = find(&script, &caller("/usr/bin:/bin")).unwrap();
        assert_eq!(target.program, Path::new(program), "{line}");
        assert_eq!(target.path, script, "{line}");
        assert_eq!(target.is_text, line.starts_with("echo"), "{line}");
    }
}

/// Whether the kernel starts a file. A child that another test forks may hold it open for writing
/// for a moment.
fn can_start(file: &Path) -> bool {
    loop {
        match Command::new(file).status() {
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) => {}
            started => return started.is_ok(),
        }
    }
}

/// The kernel decides how long a chain may be.
#[test]
fn a_chain_of_scripts_is_as_long_as_the_kernel_allows() {
    let dir = Dir::new();
    let mut last = PathBuf::from("/bin/true");
    for depth in 1..=MOST_SCRIPTS + 2 {
        let line = format!("#!{}\n", last.display());
        last = dir.file(&format!("s{depth}"), line.as_bytes(), 0o755);
        let runs = can_start(&last);
        let found = find(&last, &caller("/bin"));
        assert_eq!(found.is_ok(), runs, "{depth} scripts");
    }
}

#[test]
fn the_search_continues_after_files_that_cannot_run() {
    let dir = Dir::new();
    dir.file("a/tool", b"x", 0o644);
    dir.file("b/tool", b"#!/no/such/shell\n", 0o755);
    let good = dir.file("c/tool", b"#!/bin/sh\n", 0o755);
    let with_path = |names: &[&str]| {
        let dirs = names.iter().map(|name| dir.path(name));
        let path = std::env::join_paths(dirs).unwrap();
        find("tool", &caller(path.to_str().unwrap()))
    };
    assert_eq!(with_path(&["none", "a", "b", "c"]).unwrap().path, good);
    assert_eq!(with_path(&["none", "a"]).unwrap_err().status(), 126);
    assert_eq!(with_path(&["none", "b"]).unwrap_err().status(), 127);
}

#[test]
fn a_set_user_id_program_is_secure_for_others() {
    let dir = Dir::new();
    let path = dir.path("program");
    std::fs::copy("/bin/true", &path).unwrap();
    let own = caller("/bin");
    let mut other = own.clone();
    (other.uid, other.gid) = (own.uid + 1, own.gid + 1);
    for (mode, caller, expected) in [
        (0o755, &other, None),
        (0o4755, &other, Some(SecureExec::SetUserId)),
        (0o4111, &other, Some(SecureExec::SetUserId)),
        (0o4755, &own, None),
        (0o2755, &other, Some(SecureExec::SetGroupId)),
        // Without the group's right to execute, the bit means something else.
        (0o2705, &other, None),
    ] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).unwrap();
        let target = find(&path, caller).unwrap();
        assert_eq!(target.secure_exec, expected, "{mode:o}");
    }
}
