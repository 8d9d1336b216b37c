use super::*;
use crate::probe::bundle::predict_path;
use hugetools_contract::env::HEAP_LIBRARY;
use std::io::Read;
use std::os::unix::fs::symlink;

const BUNDLE: Bundle<'static> = Bundle {
    digest: "0123abcd",
    preload: b"the library",
    heap: &[7; 100_000],
};

fn euid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

fn place_in(base: &Path) -> Place {
    Place {
        base: base.to_owned(),
        make: false,
        name: "ours".to_owned(),
    }
}

fn place_heap(base: &Path) -> Result<PathBuf, String> {
    place(&[place_in(base)], &BUNDLE, HEAP_LIBRARY, euid())
}

fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = OpenOptions::new().read(true).open(path).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

fn overwrite(path: &Path, bytes: &[u8]) {
    // The write must change ctime, which before Linux 6.13 advances once per clock tick.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).truncate(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

#[test]
fn a_library_is_written_once() {
    let dir = tempfile::tempdir().unwrap();
    let predicted = predict_path(&[place_in(dir.path())], &BUNDLE, HEAP_LIBRARY, euid()).unwrap();
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
    let path = place_heap(dir.path()).unwrap();
    assert_eq!(path, dir.path().join("ours/0123abcd").join(HEAP_LIBRARY));
    assert_eq!(path, predicted);
    assert_eq!(read(&path), BUNDLE.heap);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    let before = inode(&path);
    assert_eq!(inode(&place_heap(dir.path()).unwrap()), before);
    // A concurrent start that has not seen the file keeps it.
    write(path.parent().unwrap(), HEAP_LIBRARY, BUNDLE.heap, euid()).unwrap();
    assert_eq!(inode(&path), before);
    let files = fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(files.count(), 2, "only the library and its note");
}

#[test]
fn a_changed_file_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = place_heap(dir.path()).unwrap();
    let mut bytes = BUNDLE.heap.to_vec();
    bytes[99_999] = 8;
    for damage in [&bytes[..], b"", &BUNDLE.heap[..5000]] {
        overwrite(&path, damage);
        assert_eq!(read(&place_heap(dir.path()).unwrap()), BUNDLE.heap);
    }
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    place_heap(dir.path()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    // A link is replaced, not followed.
    let other = dir.path().join("other");
    File::create(&other).unwrap().write_all(b"other").unwrap();
    fs::remove_file(&path).unwrap();
    symlink(&other, &path).unwrap();
    place_heap(dir.path()).unwrap();
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(read(&other), b"other");
}

#[test]
fn a_directory_that_others_can_change_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refusal = || place_heap(dir.path()).unwrap_err();
    let ours = dir.path().join("ours");
    fs::create_dir(&ours).unwrap();
    fs::set_permissions(&ours, Permissions::from_mode(0o777)).unwrap();
    assert!(refusal().contains("other users can write to it"));
    fs::remove_dir(&ours).unwrap();
    symlink("/tmp", &ours).unwrap();
    assert!(refusal().contains("it is not a directory"));
    fs::remove_file(&ours).unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(refusal().contains("others can change its directory"));
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    place_heap(dir.path()).unwrap();
}
