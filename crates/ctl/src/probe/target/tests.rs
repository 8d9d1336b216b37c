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
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(contents).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(mode))
            .unwrap();
        path
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        path
    }

    fn program(&self, name: &str, args: &[&str]) -> PathBuf {
        let source = self.file("main.c", b"int main(void) { return 0; }", 0o644);
        let path = self.path(name);
        let status = Command::new("cc")
            .arg(source)
            .args(args)
            .arg("-o")
            .arg(&path)
            .status();
        assert!(status.unwrap().success());
        path
    }
}

fn caller(path: &str) -> Caller {
    let path = (OsString::from("PATH"), OsString::from(path));
    Caller::this([path])
}

fn found(name: impl AsRef<OsStr>) -> Target {
    find(name.as_ref(), &caller("/usr/bin:/bin")).unwrap()
}

fn refused(name: impl AsRef<OsStr>) -> (u8, String) {
    let failure = find(name.as_ref(), &caller("/usr/bin:/bin")).unwrap_err();
    (failure.status(), failure.to_string())
}

#[test]
fn programs_of_every_kind() {
    let dir = Dir::new();
    assert_eq!(found("cc").image, Image::Dynamic(Libc::Glibc));
    let dynamic = dir.program("dynamic", &[]);
    assert_eq!(found(&dynamic).image, Image::Dynamic(Libc::Glibc));
    assert_eq!(found(&dynamic).program, dynamic);
    // A libc is known by its loader.
    let loader = dir.file("ld-musl-x86_64.so.1", b"", 0o755);
    let loader = format!("-Wl,--dynamic-linker={}", loader.display());
    assert_eq!(
        found(dir.program("musl", &[&loader])).image,
        Image::Dynamic(Libc::Musl)
    );
    assert_eq!(
        found(dir.program("static", &["-static"])).image,
        Image::Static
    );
    assert_eq!(
        found(dir.program("spie", &["-static-pie"])).image,
        Image::Static
    );
    let loader = "/lib64/ld-linux-x86-64.so.2";
    if Path::new(loader).exists() {
        assert_eq!(found(loader).image, Image::Dynamic(Libc::Glibc));
    }
}

#[test]
fn scripts_lead_to_their_interpreter() {
    let dir = Dir::new();
    let plain = dir.file("plain", b"#!/bin/sh\n", 0o755);
    assert_eq!(found(&plain).program, Path::new("/bin/sh"));
    assert_eq!(found(&plain).path, plain);
    let line = format!("#!{}\n", plain.display());
    let second = dir.file("second", line.as_bytes(), 0o755);
    assert_eq!(found(&second).program, Path::new("/bin/sh"));
    let env = dir.file("env", b"#!/usr/bin/env perl\n", 0o755);
    assert_eq!(found(&env).program, Path::new("/usr/bin/perl"));
    let split = dir.file("split", b"#!/usr/bin/env -S perl -w\n", 0o755);
    assert_eq!(found(&split).program, Path::new("/usr/bin/perl"));
    let hard = dir.file("hard", b"#!/usr/bin/env -i perl\n", 0o755);
    assert_eq!(found(&hard).program, Path::new("/usr/bin/env"));
}

/// The kernel itself is asked how deep a chain may be.
#[test]
fn a_chain_of_scripts_is_as_deep_as_the_kernel_allows() {
    let dir = Dir::new();
    let mut last = PathBuf::from("/bin/true");
    for depth in 1..=DEEPEST + 2 {
        let line = format!("#!{}\n", last.display());
        last = dir.file(&format!("s{depth}"), line.as_bytes(), 0o755);
        let runs = Command::new(&last).status().is_ok();
        let seen = find(last.as_os_str(), &caller("/bin"));
        assert_eq!(seen.is_ok(), runs, "{depth} scripts");
        if let Err(failure) = seen {
            assert_eq!(failure.status(), 126);
        }
    }
}

#[test]
fn text_without_an_interpreter_is_the_shell_s() {
    let dir = Dir::new();
    let text = dir.file("text", b"echo hello\n", 0o755);
    let target = found(&text);
    assert!(target.is_text);
    assert_eq!((target.path, target.program), (text, PathBuf::from(SHELL)));
    assert!(found(dir.file("empty", b"", 0o755)).is_text);
    assert!(!found("/bin/true").is_text);
}

#[test]
fn what_is_not_found_is_127_and_what_cannot_run_126() {
    let dir = Dir::new();
    let cases = [
        (
            PathBuf::from("no-such-program"),
            127,
            "no directory of PATH holds it",
        ),
        (
            dir.path("absent"),
            127,
            "no such file or directory (ENOENT)",
        ),
        (dir.file("plain", b"x", 0o644), 126, "is not executable"),
        (dir.fifo("fifo"), 126, "is no plain file"),
        (dir.path("plain/x"), 126, "not a directory (ENOTDIR)"),
        (dir.0.path().to_owned(), 126, "is a directory"),
        (
            dir.file("lost", b"#!/no/such/shell\n", 0o755),
            127,
            "its interpreter /no/such/shell: no such file",
        ),
        (
            dir.file("dos", b"#!/bin/sh\r\n", 0o755),
            127,
            "carriage return",
        ),
        (
            dir.program("object", &["-c"]),
            126,
            "is an object file or a core",
        ),
    ];
    std::fs::set_permissions(dir.path("object"), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, status, text) in cases {
        let (found, message) = refused(&name);
        assert_eq!(found, status, "{message}");
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn a_missing_loader_is_named() {
    let dir = Dir::new();
    let path = dir.program("lost", &["-Wl,--dynamic-linker=/no/such/loader.so"]);
    let (status, text) = refused(&path);
    assert_eq!(status, 127);
    assert!(
        text.contains("its loader /no/such/loader.so: no such file"),
        "{text}"
    );
}

#[test]
fn the_search_goes_on_behind_what_cannot_run() {
    let dir = Dir::new();
    dir.file("a/tool", b"x", 0o644);
    dir.file("b/tool", b"#!/no/such/shell\n", 0o755);
    let good = dir.file("c/tool", b"#!/bin/sh\n", 0o755);
    let path = |dirs: &[&str]| {
        let dirs = dirs
            .iter()
            .map(|name| dir.path(name).to_str().unwrap().to_owned());
        dirs.collect::<Vec<_>>().join(":")
    };
    let tool = OsStr::new("tool");
    let all = caller(&path(&["none", "a", "b", "c"]));
    assert_eq!(find(tool, &all).unwrap().path, good);
    let denied = find(tool, &caller(&path(&["none", "a"]))).unwrap_err();
    assert_eq!(denied.status(), 126);
    let lost = find(tool, &caller(&path(&["none", "b"]))).unwrap_err();
    assert_eq!(lost.status(), 127);
    assert!(lost.to_string().contains("/no/such/shell"), "{lost}");
}

#[test]
fn foreign_and_damaged_programs() {
    let dir = Dir::new();
    let mut bytes = vec![0u8; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16..20].copy_from_slice(&[2, 0, 183, 0]);
    bytes[20] = 1;
    let path = dir.file("foreign", &bytes, 0o755);
    match found(&path).image {
        Image::Foreign(ident) => assert_eq!(ident.to_string(), "64-bit aarch64"),
        image => panic!("{image:?}"),
    }
    // A dynamic one, whose loader is below the root of its emulator and not here.
    let loader = b"/no/such/ld-linux-aarch64.so.1\0";
    bytes[32] = 64;
    bytes[54] = 56;
    bytes[56] = 1;
    let mut header = [0u8; 56];
    header[0] = 3;
    header[8] = 120;
    let len = u8::try_from(loader.len()).unwrap();
    header[32] = len;
    header[40] = len;
    bytes.extend(header);
    bytes.extend(loader);
    let path = dir.file("dynamic", &bytes, 0o755);
    assert!(matches!(found(&path).image, Image::Foreign(_)));
    let path = dir.file("damaged", b"\x7fELF\x02\x01\x01", 0o755);
    assert_eq!(
        found(&path).image,
        Image::Unknown("cut off in its header".to_owned())
    );
}

#[test]
fn a_set_user_id_program_is_secure_for_others() {
    let dir = Dir::new();
    let path = dir.program("program", &[]);
    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
    let mut other = caller("/bin");
    (other.uid, other.gid) = (other.uid + 1, other.gid + 1);
    let secure = |caller: &Caller| find(path.as_os_str(), caller).unwrap().secure;
    assert_eq!(secure(&other), None);
    mode(0o4755).unwrap();
    assert_eq!(secure(&other), Some(Secure::SetUserId));
    assert_eq!(secure(&caller("/bin")), None);
    mode(0o2755).unwrap();
    assert_eq!(secure(&other), Some(Secure::SetGroupId));
    // Without the group's right to execute, the bit means something else.
    mode(0o2705).unwrap();
    assert_eq!(secure(&other), None);
}

#[test]
fn a_pipe_is_not_waited_for() {
    let dir = Dir::new();
    let path = dir.path("pipe");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(refused(&path).0, 126);
}
