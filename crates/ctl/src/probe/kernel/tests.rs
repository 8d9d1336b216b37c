use super::*;
use std::fs;
use std::io::Write;

/// Returns a machine with these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    let root = Root::at(dir.path()).unwrap();
    (dir, root)
}

#[test]
fn share_counts_allowed_nodes() {
    let free = |node| {
        format!("sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/free_hugepages")
    };
    let (first, second) = (free(0), free(1));
    let (_dir, root) = tree(&[
        ("proc/meminfo", ""),
        ("sys/devices/system/node/online", "0-1\n"),
        (&first, "500\n"),
        (&second, "12\n"),
    ]);
    let share = |nodes: &[u32]| {
        let size = PageSize::new(2 << 20).unwrap();
        let nodes = nodes.iter().copied().collect();
        let share = source::read_share(&root, size, Some(nodes)).unwrap();
        share.map(|share| share.free.get())
    };
    assert_eq!(share(&[0, 1]), None);
    assert_eq!(share(&[1]), Some(12));
    assert_eq!(share(&[7]), Some(0));
}

#[test]
fn only_requested_files_are_read() {
    // These files are malformed: reading one is an error.
    let (_dir, root) = tree(&[
        ("proc/meminfo", "Hugepagesize: odd\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "odd odd\n"),
    ]);
    let read = |heap| {
        let wants = Wants {
            heap,
            ..Wants::default()
        };
        Kernel::read(&root, wants, &Caller::this([]))
    };
    assert_eq!(read(None), Ok(Kernel::default()));
    let error = read(Some(Pages::Thp)).unwrap_err().to_string();
    assert!(error.contains("transparent_hugepage/enabled"), "{error}");
    let error = read(Some(Pages::Default)).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /proc/meminfo"), "{error}");
}
