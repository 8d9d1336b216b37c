use super::*;
use std::fs;
use std::io::Write;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.0.path().join("proc")).unwrap();
        for (path, text) in files {
            let path = tree.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::File::create(path)
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
        }
        tree
    }

    fn root(&self) -> Root {
        Root::at(self.0.path()).unwrap()
    }
}

fn two() -> PageSize {
    PageSize::new(2 << 20).unwrap()
}

const NODES: [(&str, &str); 3] = [
    ("sys/devices/system/node/online", "0-1\n"),
    (
        "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages",
        "500\n",
    ),
    (
        "sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages",
        "12\n",
    ),
];

#[test]
fn a_share_is_what_the_allowed_nodes_have() {
    let tree = Tree::new(&NODES);
    let share = |nodes: &[u32]| {
        let nodes = nodes.iter().copied().collect();
        source::read_share(&tree.root(), two(), Some(nodes))
            .unwrap()
            .map(|share| share.free.get())
    };
    assert_eq!(share(&[0, 1]), None);
    assert_eq!(share(&[1]), Some(12));
    assert_eq!(share(&[7]), Some(0));
    assert_eq!(
        source::read_share(&Tree::new(&[]).root(), two(), Some([0].into())).unwrap(),
        None
    );
}

#[test]
fn only_what_is_asked_for_is_read() {
    // Files that make no sense are not even looked at.
    let tree = Tree::new(&[
        ("proc/meminfo", "Hugepagesize: odd\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "odd odd\n"),
    ]);
    let caller = Caller::this([]);
    let read = |heap| {
        let wants = Wants {
            heap,
            ..Wants::default()
        };
        Kernel::read(&tree.root(), wants, &caller)
    };
    assert_eq!(read(None), Ok(Kernel::default()));
    let error = read(Some(Pages::Thp)).unwrap_err().to_string();
    assert!(
        error.contains("transparent_hugepage/enabled: no choice is marked"),
        "{error}"
    );
    let error = read(Some(Pages::Default)).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /proc/meminfo"), "{error}");
}
