//! The configuration file: --save, --check, --apply, --rollback.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

mod killed;
mod simulated;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::cases;
use crate::support::live::{machine, skip};
use crate::support::tool::{self, Ran, hugeadm};
use crate::support::tree::{self, Snapshot, difference, snapshot};

/// Returns a snapshot without the rollback record and its directory.
fn without_record(tree: &Path) -> Snapshot {
    let mut all = snapshot(tree);
    all.retain(|path, _| !path.starts_with("/var/lib/hugetools"));
    all.remove("/var/");
    all.remove("/var/lib/");
    all
}

/// A recorded machine, and a configuration file beside it.
struct World {
    tree: TempDir,
    dir: TempDir,
}

impl World {
    fn new(machine: &str) -> World {
        let tree = tree::machine(machine);
        World {
            tree,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("pools.toml")
    }

    fn run(&self, option: &str) -> Ran {
        let takes_file = ["--apply", "--check", "--save"].contains(&option);
        let word = match takes_file {
            true => format!("{option}={}", self.file().display()),
            false => option.to_owned(),
        };
        hugeadm(self.tree.path(), &[word])
    }

    fn ok(&self, option: &str) {
        let ran = self.run(option);
        assert_eq!(ran.status, 0, "{option}: {ran:?}");
    }

    fn snapshot(&self) -> Snapshot {
        snapshot(self.tree.path())
    }

    fn without_record(&self) -> Snapshot {
        without_record(self.tree.path())
    }

    /// Changes a kernel file by hand. Returns false if the machine lacks it.
    fn change(&self, path: &str, text: &str) -> bool {
        let path = self.tree.path().join(path);
        let is_there = path.exists();
        if is_there {
            tree::write(&path, text);
        }
        is_there
    }
}

/// Kernel files that a test changes without hugeadm: path and new text.
const MANUAL_CHANGES: [(&str, &str); 7] = [
    ("proc/sys/vm/nr_overcommit_hugepages", "9\n"),
    (
        "sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
        "always [inherit] madvise never\n",
    ),
    ("proc/sys/vm/min_free_kbytes", "4242\n"),
    ("proc/sys/vm/hugetlb_shm_group", "4242\n"),
    ("proc/sys/kernel/shmmax", "4242\n"),
    (
        "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
        "42\n",
    ),
    (
        "sys/kernel/mm/transparent_hugepage/defrag",
        "always defer defer+madvise madvise [never]\n",
    ),
];

#[test]
fn manual_changes_are_found_and_reverted_on_every_machine() {
    for name in tree::machines() {
        let world = World::new(&name);
        let before = world.snapshot();
        world.ok("--save");
        world.ok("--check");
        world.ok("--apply");
        assert_eq!(difference(&before, &world.snapshot()), [""; 0], "{name}");
        let changed = MANUAL_CHANGES
            .iter()
            .filter(|(path, text)| world.change(path, text));
        let changed: Vec<String> = changed.map(|(path, _)| format!("/{path}")).collect();
        assert!(!changed.is_empty(), "{name}");
        let by_hand = world.without_record();
        let ran = world.run("--check");
        assert_eq!(ran.status, 4, "{name}: {ran:?}");
        let mut found: Vec<&str> = ran
            .out
            .lines()
            .map(|line| line.split(':').next().unwrap())
            .collect();
        found.sort_unstable();
        let mut expected: Vec<&str> = changed.iter().map(String::as_str).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{name}");
        world.ok("--apply");
        world.ok("--check");
        world.ok("--rollback");
        assert_eq!(
            difference(&by_hand, &world.without_record()),
            [""; 0],
            "{name}"
        );
        assert_eq!(world.run("--rollback").status, 1, "{name}: nothing is left");
        // A file may not have this value.
        world.change("proc/sys/vm/min_free_kbytes", "0\n");
        world.ok("--save");
        world.ok("--check");
    }
}

/// Generates files for the default pool of any machine, without `nodes`: in a recorded tree the
/// pool doesn't follow its nodes ([`simulated`] tests those).
fn files() -> impl Strategy<Value = String> {
    let pool = prop_oneof![
        (0..30u64).prop_map(|pages| format!("min = {pages}\n")),
        (2..20u64).prop_map(|pages| format!("min = \"{}MB\"\n", 16 * pages)),
        (0..30u64, 0..50u64).prop_map(|(min, more)| format!("min = {min}\nmax = {}\n", min + more)),
        Just("min = \"3%\"\n".to_owned()),
    ];
    let mount = prop_oneof![
        Just(""),
        Just("[[mount]]\nfor = \"root\"\nmax_size = \"64MB\"\n")
    ];
    let thp = prop_oneof![
        Just(""),
        Just("[thp]\nenabled = \"never\"\nmax_ptes_none = 7\n")
    ];
    let memory = prop_oneof![
        Just(""),
        Just("[memory]\nmin_free = \"200MB\"\n"),
        Just("[memory]\nmin_free = \"recommended\"\n[shm]\nmax = \"1GB\"\ngroup = 7\n")
    ];
    (pool, mount, thp, memory).prop_map(|(pool, mount, thp, memory)| {
        format!("[[pool]]\nsize = \"DEFAULT\"\n{pool}{mount}{thp}{memory}")
    })
}

fn machines_with_pools() -> Vec<String> {
    let mut names = tree::machines();
    names.retain(|name| !["ppc64le-power9-hash", "s390x"].contains(&name.as_str()));
    names
}

proptest! {
    #![proptest_config(cases(16))]

    /// A second apply changes nothing, and a rollback restores every byte.
    #[test]
    fn any_file_is_applied_once_and_rolled_back(
        name in prop::sample::select(machines_with_pools()),
        first in files(),
        second in files(),
    ) {
        let world = World::new(&name);
        for text in [first, second] {
            let before = world.without_record();
            fs::write(world.file(), &text).unwrap();
            let differs = world.run("--check").status == 4;
            world.ok("--apply");
            let applied = world.snapshot();
            prop_assert_eq!(world.run("--check").status, 0, "{}: {}", name, text);
            world.ok("--apply");
            prop_assert_eq!(&applied, &world.snapshot(), "{}: {}", name, text);
            if differs {
                world.ok("--rollback");
                prop_assert_eq!(difference(&before, &world.without_record()), [""; 0], "{}: {}", name, text);
                world.ok("--apply");
            }
        }
    }
}

/// Wrong files: text, and the beginning of the error after the path.
#[rustfmt::skip]
const WRONG: [(&str, &str); 37] = [
    (
        "[[pool]]\nsize = \"2MB\"\nmni = 3\n",
        "3:1: mni = 3: unknown field `mni`, expected one of `size`, `min`, ",
    ),
    (
        "[thp]\nzero = 1\n",
        "2:1: zero = 1: unknown field `zero`, expected one of `enabled`, ",
    ),
    ("[[pool]]\nmin = 3\n", "1:1: [[pool]]: missing field `size`"),
    (
        "[[pool]]\nsize = \"2MB\"\n",
        "2:8: size = \"2MB\": the pool has no amount; write min, ",
    ),
    (
        "[[pool]]\nsize = \"2MB@0\"\nmin = 3\n",
        "2:8: size = \"2MB@0\": page size \"2MB@0\": ",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = \"3XB\"\n",
        "3:7: min = \"3XB\": amount \"3XB\": unknown unit",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = \"101%\"\n",
        "3:7: min = \"101%\": 101% is more than 100%",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 2.5\n",
        "3:7: min = 2.5: write a number from 0, or a text",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = \"+3\"\n",
        "3:7: min = \"+3\": relative amounts are not allowed here",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 99999999\n",
        "3:7: min = 99999999: the pools would take ",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmax = 99999999\n",
        "3:7: max = 99999999: the pool could grow to ",
    ),
    (
        "[[pool]]\nsize = \"16MB\"\nmin = 3\n",
        "2:8: size = \"16MB\": this machine has no huge pages of 16MB",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nnodes = { 9 = 3 }\n",
        "3:15: 9 = 3: this machine has no node 9, only 0-7",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nnodes = { 0 = 3, \"0-1\" = 4 }\n",
        "3:9: nodes = { 0 = 3, \"0-1\" = 4 }: a node is given twice",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nnodes = { \"0*2\" = 3 }\n",
        "3:19: 0*2 = 3: only --pool-spread has weights",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 3\nspread = 3\n",
        "4:10: spread = 3: excludes min; keep only one of",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 3\nweights = { 0 = 3 }\n",
        "4:11: weights = { 0 = 3 }: weights need spread",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nspread = 3\nweights = { 0 = 0 }\n",
        "4:17: weights = { 0 = 0 }: ",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 5\nmax = 3\n",
        "4:7: max = 3: less than the minimum of 5 pages",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 3\n[[pool]]\nsize = \"DEFAULT\"\n",
        "5:8: size = \"DEFAULT\": the pool of 2MB is set in ",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 3\nessential = \"no\"\n",
        "4:13: essential = \"no\": ",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 3\ntry = \"harder\"\n",
        "4:7: try = \"harder\": unknown variant `harder`, expected `hard`",
    ),
    (
        "[[pool]]\nsize = \"2MB\"\nmin = 3\nfor = \"soon\"\n",
        "4:7: for = \"soon\": not a duration from 1s to 1440m",
    ),
    (
        "[[mount]]\nfor = \"all\"\n",
        "2:7: for = \"all\": not a set of mounts; write \"root\"",
    ),
    (
        "[[mount]]\nfor = \"user:no-such-user\"\n",
        "2:7: for = \"user:no-such-user\": no such user",
    ),
    (
        "[[mount]]\nfor = \"root\"\nmode = \"999\"\n",
        "3:8: mode = \"999\": not an octal mode",
    ),
    (
        "[[mount]]\nfor = \"root\"\nmax_size = \"1kB\"\n",
        "3:12: max_size = \"1kB\": less than one page",
    ),
    (
        "[[mount]]\nfor = \"root\"\nsize = \"2MB\"\n[[mount]]\nfor = \"root\"\n",
        "5:7: for = \"root\": the mount of 2MB for root is set in ",
    ),
    (
        "[thp]\nenabled = \"sometimes\"\n",
        "2:11: enabled = \"sometimes\": write one of always, ",
    ),
    (
        "[thp]\nkhugepaged_pages = 0\n",
        "2:20: khugepaged_pages = 0: invalid value: integer `0`, expected a nonzero u32",
    ),
    (
        "[thp]\nsizes = { \"64kB\" = \"always\" }\n",
        "2:20: 64kB = \"always\": this kernel has no multi-size THP",
    ),
    (
        "[shm]\ngroup = \"nobody's\"\n",
        "2:9: group = \"nobody's\": no such group",
    ),
    (
        "[memory]\nmin_free = \"much\"\n",
        "2:12: min_free = \"much\": not a number; write bytes",
    ),
    (
        "[memory]\nmin_free = \"100TB\"\n",
        "2:12: min_free = \"100TB\": 107374182400 kB; write 1 kB to half of the memory, ",
    ),
    (
        "[when]\nmemory = \"much\"\n",
        "2:10: memory = \"much\": not a comparison",
    ),
    ("[[pool]\n", "1:8: [[pool]: "),
    ("[shm]\nmax = 3\nmax = 4\n", "3:1: max = 4: duplicate key"),
];

#[test]
fn an_invalid_file_gives_one_error_with_its_position() {
    for (text, expected) in WRONG {
        let world = World::new("x86_64-8node");
        fs::write(world.file(), text).unwrap();
        let before = world.snapshot();
        for option in ["--apply", "--check"] {
            let ran = world.run(option);
            assert_eq!(ran.status, 2, "{text}: {ran:?}");
            let start = format!("{}:{expected}", world.file().display());
            assert!(ran.err.contains(&start), "{text}: {ran:?}");
            assert_eq!(ran.err.matches("hugeadm:").count(), 1, "{text}: {ran:?}");
        }
        assert_eq!(before, world.snapshot(), "{text}");
    }
}

#[test]
fn conditions_choose_pools() {
    let world = World::new("x86_64-8node");
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 3\nwhen = { nodes = 2 }\n\
        [[pool]]\nsize = \"2MB\"\nmin = 90\nwhen = { nodes = \">=8\", memory = \">1GB\" }\n\
        [thp]\nenabled = \"never\"\n";
    fs::write(world.file(), text).unwrap();
    world.ok("--apply");
    let pool = world.tree.path().join("proc/sys/vm/nr_hugepages");
    assert_eq!(tree::text(&pool).trim(), "90");
    fs::write(world.file(), format!("[when]\nhost = \"other\"\n{text}")).unwrap();
    world.ok("--rollback");
    world.ok("--check");
}

#[test]
fn the_example_is_valid_with_its_keys_uncommented_too() {
    let world = World::new("x86_64-6.18-mthp");
    let example = hugeadm(world.tree.path(), &["--example-config"]);
    fs::write(world.file(), &example.out).unwrap();
    assert_eq!(world.run("--check").status, 4);
    let all: String = example
        .out
        .lines()
        .filter(|line| {
            !["#nodes", "#spread", "#weights"]
                .iter()
                .any(|key| line.starts_with(key))
        })
        .map(|line| match line.strip_prefix('#') {
            Some(key) if !key.starts_with(' ') => format!("{key}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    // The conditions of the example name other hosts, so nothing differs.
    fs::write(world.file(), all.replace("postgres", "root")).unwrap();
    world.ok("--check");
}

#[test]
fn a_real_pool_follows_the_file() {
    let Some(live) = machine("a file on this machine") else {
        return;
    };
    live.set_pool(0);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pools.toml");
    let size = live.default_size();
    fs::write(
        &file,
        "[[pool]]\nsize = \"DEFAULT\"\nmin = 20\nmax = 25\n[[mount]]\nfor = \"global\"\n",
    )
    .unwrap();
    let run = |option: &str| live.hugeadm(&[&format!("{option}={}", file.display())]);
    assert_eq!(run("--check").status, 4);
    assert_eq!(run("--apply").status, 0);
    assert_eq!(live.pool(size), (20, 5));
    let ran = run("--check");
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{ran:?}");
    live.set_pool(21);
    let ran = run("--check");
    assert!(ran.out.contains("is 21, should be 20"), "{ran:?}");
    live.set_pool(22);
    assert_eq!(run("--apply").status, 0);
    let ran = live.hugeadm(&["--rollback"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(live.pool(size).0, 22);
    // More than all memory is a usage error.
    let more = "[[pool]]\nsize = \"DEFAULT\"\nmin = \"200%\"\n";
    fs::write(&file, more).unwrap();
    assert_eq!(run("--apply").status, 2);
    assert_eq!(
        tool::hugeadm(dir.path(), &["--rollback"]).status,
        2,
        "an empty directory is not a machine"
    );
}

/// The kernel raises `vm.min_free_kbytes` when transparent huge pages are switched on.
#[test]
fn min_free_is_set_and_restored_after_transparent_huge_pages() {
    let test = "min_free and transparent huge pages";
    let Some(live) = machine(test) else {
        return;
    };
    if live.now().thp.is_none() {
        return skip(test, "this machine has no transparent huge pages").unwrap_or(());
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file.toml");
    let run = |option: &str, mode: &str, min_free: u32| {
        let text = format!("[thp]\nenabled = \"{mode}\"\n[memory]\nmin_free = \"{min_free}MB\"\n");
        fs::write(&file, text).unwrap();
        let ran = live.hugeadm(&[&format!("{option}={}", file.display())]);
        assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{ran:?}");
    };
    run("--apply", "always", 8);
    run("--apply", "never", 9);
    assert_eq!(live.hugeadm(&["--rollback"]).status, 0);
    run("--check", "always", 8);
}
