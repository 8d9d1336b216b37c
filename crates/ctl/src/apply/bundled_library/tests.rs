use super::*;
use crate::probe::bundle::future_place_in;
use hugetools_contract::env::{HEAP_LIBRARY, LIBRARY};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::process::Command;

const BUNDLE: Bundle<'static> = Bundle {
    digest: "0123abcd",
    preload: b"the library",
    heap: &[7; 100_000],
};

fn me() -> u32 {
    nix::unistd::geteuid().as_raw()
}

fn at(base: &Path, name: &str) -> Place {
    Place {
        base: base.to_owned(),
        make: false,
        name: name.to_owned(),
    }
}

fn put_in(base: &Path) -> Result<PathBuf, String> {
    place_in(&[at(base, "ours")], &BUNDLE, HEAP_LIBRARY, me())
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    OpenOptions::new()
        .read(true)
        .open(path)
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

fn overwrite(path: &Path, bytes: &[u8]) {
    OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(path)
        .unwrap()
        .write_all(bytes)
        .unwrap();
}

#[test]
fn what_is_put_is_what_is_inside() {
    let dir = tempfile::tempdir().unwrap();
    let path = put_in(dir.path()).unwrap();
    assert_eq!(path, dir.path().join("ours/0123abcd").join(HEAP_LIBRARY));
    assert_eq!(read(&path), BUNDLE.heap);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "no draft is left");
    let small = place_in(&[at(dir.path(), "ours")], &BUNDLE, LIBRARY, me()).unwrap();
    assert_eq!(read(&small), BUNDLE.preload);
}

/// Of drafts that were begun when nothing was there, only the first gets the name.
#[test]
fn who_comes_later_leaves_the_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(HEAP_LIBRARY);
    let inode = || fs::metadata(&path).unwrap().ino();
    write(dir.path(), HEAP_LIBRARY, BUNDLE.heap, me()).unwrap();
    let first = inode();
    write(dir.path(), HEAP_LIBRARY, BUNDLE.heap, me()).unwrap();
    assert_eq!(inode(), first);
    overwrite(&path, b"another");
    write(dir.path(), HEAP_LIBRARY, BUNDLE.heap, me()).unwrap();
    assert_ne!(inode(), first);
    assert_eq!(read(&path), BUNDLE.heap);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_good_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let path = put_in(dir.path()).unwrap();
    let before = inode(&path);
    assert_eq!(inode(&put_in(dir.path()).unwrap()), before);
}

#[test]
fn a_changed_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = put_in(dir.path()).unwrap();
    let mut bytes = BUNDLE.heap.to_vec();
    bytes[99_999] = 8;
    for damage in [&bytes[..], b"", &BUNDLE.heap[..5000]] {
        overwrite(&path, damage);
        assert_eq!(read(&put_in(dir.path()).unwrap()), BUNDLE.heap);
    }
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    put_in(dir.path()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
}

#[test]
fn a_link_in_its_place_is_replaced_and_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let other = dir.path().join("other");
    File::create(&other).unwrap().write_all(b"other").unwrap();
    let path = put_in(dir.path()).unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&other, &path).unwrap();
    put_in(dir.path()).unwrap();
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(read(&other), b"other");
}

#[test]
fn a_directory_that_others_can_change_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let ours = dir.path().join("ours");
    fs::create_dir(&ours).unwrap();
    fs::set_permissions(&ours, Permissions::from_mode(0o777)).unwrap();
    assert!(
        put_in(dir.path())
            .unwrap_err()
            .contains("others can change what is there")
    );
    fs::remove_dir(&ours).unwrap();
    symlink("/tmp", &ours).unwrap();
    assert!(
        put_in(dir.path())
            .unwrap_err()
            .contains("others can change what is there")
    );
    fs::remove_file(&ours).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(
        put_in(dir.path())
            .unwrap_err()
            .contains("others can change its directory")
    );
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    put_in(dir.path()).unwrap();
}

#[test]
fn the_next_place_is_taken_where_one_will_not_do() {
    let dir = tempfile::tempdir().unwrap();
    let blank = dir.path().join("a b");
    fs::create_dir(&blank).unwrap();
    let places = [
        at(&dir.path().join("absent"), "ours"),
        at(&blank, "ours"),
        at(Path::new("/proc"), "ours"),
        at(dir.path(), "ours"),
    ];
    let path = place_in(&places, &BUNDLE, LIBRARY, me()).unwrap();
    assert!(path.starts_with(dir.path().join("ours")));
    let reasons = place_in(&places[..3], &BUNDLE, LIBRARY, me()).unwrap_err();
    assert_eq!(reasons.matches("; ").count(), 2, "{reasons}");
    assert!(fs::read_dir(&blank).unwrap().next().is_none());
}

#[test]
fn nothing_is_written_where_it_is_not_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let path = future_place_in(&[at(dir.path(), "ours")], &BUNDLE, LIBRARY, me()).unwrap();
    assert_eq!(path, dir.path().join("ours/0123abcd").join(LIBRARY));
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
    let absent = [at(&dir.path().join("absent"), "ours")];
    assert!(future_place_in(&absent, &BUNDLE, LIBRARY, me()).is_err());
}

#[test]
fn a_file_that_cannot_be_mapped_executable_will_not_do() {
    // A file system without a way to map: the error is the kernel's own.
    let file = OpenOptions::new()
        .read(true)
        .open("/proc/self/status")
        .unwrap();
    assert!(sys::maps_as(&file, b"x").is_err());
}

/// Runs the other tests here as a user without privileges, where the one that
/// runs them has some.
#[test]
fn the_same_holds_for_an_unprivileged_user() {
    if me() != 0 {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    let program = dir.path().join("tests");
    // By another process: a child that some other test starts meanwhile would hold the
    // copy open for writing, and it could not be run.
    let mut copy = Command::new("cp");
    copy.arg(std::env::current_exe().unwrap()).arg(&program);
    assert!(copy.status().unwrap().success());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&program)
        .args(["apply::bundled_library::tests", "--test-threads=1"])
        .env("TMPDIR", dir.path())
        .current_dir("/")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("a_changed_file_is_replaced ... ok"), "{text}");
}
