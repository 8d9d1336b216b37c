//! The file of pools: --save, --check, --apply, --rollback.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::cases;
use crate::support::live::machine;
use crate::support::needs;
use crate::support::tool::{self, Ran, hugeadm};
use crate::support::tree::{self, Snapshot, difference, snapshot};

/// A machine, and a file beside it.
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
        let reads = ["--apply", "--check", "--save"].contains(&option);
        let word = match reads {
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

    /// Everything but the record.
    fn state(&self) -> Snapshot {
        let mut all = self.snapshot();
        all.retain(|path, _| !path.starts_with("/var"));
        all
    }

    /// Changes a kernel file by hand, if the machine has it.
    fn change(&self, path: &str, text: &str) -> bool {
        let path = self.tree.path().join(path);
        let is_there = path.exists();
        if is_there {
            tree::write(&path, text);
        }
        is_there
    }
}

const BY_HAND: [(&str, &str); 5] = [
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
fn a_change_by_hand_is_found_and_taken_back_on_every_machine() {
    for name in tree::machines() {
        let world = World::new(&name);
        let before = world.snapshot();
        world.ok("--save");
        world.ok("--check");
        world.ok("--apply");
        assert_eq!(difference(&before, &world.snapshot()), [""; 0], "{name}");
        let changed = BY_HAND
            .iter()
            .filter(|(path, text)| world.change(path, text));
        let changed: Vec<String> = changed.map(|(path, _)| format!("/{path}")).collect();
        assert!(!changed.is_empty(), "{name}");
        let by_hand = world.snapshot();
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
        assert_eq!(difference(&by_hand, &world.snapshot()), [""; 0], "{name}");
        assert_eq!(world.run("--rollback").status, 1, "{name}: nothing is left");
    }
}

/// Files for one pool. A recorded tree has no kernel that adds up the pages of nodes.
fn files() -> impl Strategy<Value = String> {
    let pool = prop_oneof![
        (0..300u64).prop_map(|pages| format!("min = {pages}\n")),
        (1..300u64).prop_map(|pages| format!("min = \"{}MB\"\n", 2 * pages)),
        (0..300u64, 0..50u64)
            .prop_map(|(min, more)| format!("min = {min}\nmax = {}\n", min + more)),
    ];
    let thp = prop_oneof![
        Just(""),
        Just("[thp]\nenabled = \"never\"\nmax_ptes_none = 7\n")
    ];
    let memory = prop_oneof![Just(""), Just("[memory]\nmin_free = \"200MB\"\n")];
    (pool, thp, memory)
        .prop_map(|(pool, thp, memory)| format!("[[pool]]\nsize = \"2MB\"\n{pool}{thp}{memory}"))
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_file_is_applied_once_and_rolled_back(first in files(), second in files()) {
        let world = World::new("x86_64-8node");
        for text in [first, second] {
            let before = world.state();
            fs::write(world.file(), &text).unwrap();
            let differs = world.run("--check").status == 4;
            world.ok("--apply");
            let applied = world.snapshot();
            prop_assert_eq!(world.run("--check").status, 0, "{}", text);
            world.ok("--apply");
            prop_assert_eq!(&applied, &world.snapshot(), "{}", text);
            if differs {
                world.ok("--rollback");
                prop_assert_eq!(difference(&before, &world.state()), [""; 0], "{}", text);
                world.ok("--apply");
            }
        }
    }
}

/// Wrong files, and their errors.
#[rustfmt::skip]
const WRONG: [(&str, &str); 18] = [
    ("[[pool]]\nsize = \"2MB\"\nmni = 3\n", "3:1: unknown key mni: min?"),
    ("[[pol]]\nsize = \"2MB\"\n", "1:3: unknown key pol: pool?"),
    ("[[pool]]\nmin = 3\n", "1:1: missing field `size`"),
    ("[[pool]]\nsize = \"2MB\"\nmin = \"3XB\"\n", "3:7: min = \"3XB\": amount \"3XB\": unknown unit"),
    ("[[pool]]\nsize = \"2MB\"\nmin = -3\n", "3:7: "),
    ("[[pool]]\nsize = \"2MB\"\nmin = \"+3\"\n", "3:7: min = \"+3\": a file has the amount itself"),
    ("[[pool]]\nsize = \"16MB\"\nmin = 3\n", "3:7: min = \"3\": this machine has no huge pages of 16MB"),
    ("[[pool]]\nsize = \"2MB\"\nnodes = { 9 = 3 }\n", "3:9: 9 = \"3\": "),
    ("[[pool]]\nsize = \"2MB\"\nmin = 3\nspread = 3\n", "2:8: write one of min, nodes and spread"),
    ("[[pool]]\nsize = \"2MB\"\nmin = 5\nmax = 3\n", "4:7: max is less than the minimum of 5 pages"),
    ("[[pool]]\nsize = \"2MB\"\n[[pool]]\nsize = \"DEFAULT\"\n", "4:8: the pool of 2MB is set in "),
    ("[[pool]]\nsize = \"2MB\"\nfor = \"soon\"\n", "3:7: for = \"soon\": write seconds or minutes"),
    ("[[mount]]\nfor = \"all\"\n", "2:7: for = \"all\": write \"root\""),
    ("[[mount]]\nfor = \"root\"\nmode = \"999\"\n", "3:8: mode = \"999\": "),
    ("[thp]\nenabled = \"sometimes\"\n", "2:11: unknown variant `sometimes`"),
    ("[shm]\ngroup = \"nobody's\"\n", "2:9: group = \"nobody's\": no such group"),
    ("[when]\nmemory = \"much\"\n", "2:10: memory = \"much\": write a comparison"),
    ("[[pool]\n", "1:8: "),
];

#[test]
fn a_wrong_file_is_one_error_with_its_place() {
    for (text, expected) in WRONG {
        let world = World::new("x86_64-8node");
        fs::write(world.file(), text).unwrap();
        let before = world.snapshot();
        for option in ["--apply", "--check"] {
            let ran = world.run(option);
            assert_eq!(ran.status, 2, "{text}: {ran:?}");
            let start = format!("{}:{expected}", world.file().display());
            assert!(ran.err.contains(&start), "{text}: {ran:?}");
            assert_eq!(ran.err.matches("error:").count(), 1, "{text}: {ran:?}");
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
fn the_example_is_right_and_has_all_keys() {
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
    // A host of this name has no such pools.
    fs::write(world.file(), all.replace("postgres", "root")).unwrap();
    world.ok("--check");
}

/// The changing system calls of an apply or a rollback.
const CALLS: [&str; 11] = [
    "write", "rename", "mkdir", "rmdir", "unlink", "fchown", "fchmod", "chmod", "mount", "umount2",
    "fsync",
];

/// Runs hugeadm, killed at the nth of these calls; false if it comes to its end before.
fn killed(root: Option<&Path>, option: &str, (call, at): (&str, usize)) -> bool {
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        &format!("trace={call}"),
    ]);
    command.args(["-e", &format!("inject={call}:signal=SIGKILL:when={at}")]);
    command.arg(env!("CARGO_BIN_EXE_hugeadm"));
    if let Some(root) = root {
        command.arg("--sysroot").arg(root);
    }
    let status = command.arg(option).output().unwrap().status;
    assert!(
        status.code() != Some(1) || status.signal().is_some(),
        "{status:?}"
    );
    status.signal() == Some(9)
}

#[test]
fn a_killed_apply_is_finished_or_taken_back() {
    if !needs::programs("a killed apply", &["strace"]) {
        return;
    }
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 90\nmax = 200\n\
        [thp]\nenabled = \"never\"\n[memory]\nmin_free = \"256MB\"\n";
    let target = World::new("x86_64-8node");
    fs::write(target.file(), text).unwrap();
    let before = target.state();
    target.ok("--apply");
    let after = target.state();
    let kills = CALLS
        .iter()
        .flat_map(|call| (1..20).map(move |at| (*call, at)));
    let mut done = "";
    let mut count = 0;
    for kill in kills {
        if kill.0 == done {
            continue;
        }
        count += 1;
        for then in ["--apply", "--rollback"] {
            let world = World::new("x86_64-8node");
            fs::write(world.file(), text).unwrap();
            let option = format!("--apply={}", world.file().display());
            if !killed(Some(world.tree.path()), &option, kill) {
                done = kill.0;
            }
            let ran = world.run(then);
            let is_early = then == "--rollback" && ran.status == 1 && ran.err.contains("nothing");
            assert!(ran.status == 0 || is_early, "{kill:?} {then}: {ran:?}");
            let expected = if then == "--apply" { &after } else { &before };
            assert_eq!(
                difference(expected, &world.state()),
                [""; 0],
                "{kill:?} {then}"
            );
            if then == "--apply" {
                world.ok("--rollback");
                let now = world.state();
                assert_eq!(
                    difference(&before, &now),
                    [""; 0],
                    "{kill:?}: the first state"
                );
            }
        }
    }
    assert!(count >= 8, "{count}");
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
    if needs::programs("a killed apply", &["strace"]) {
        for at in 1..8 {
            live.set_pool(22);
            killed(None, &format!("--apply={}", file.display()), ("write", at));
            assert_eq!(run("--apply").status, 0);
            assert_eq!(live.pool(size), (20, 5), "{at}");
        }
    }
    let ran = live.hugeadm(&["--rollback"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(live.pool(size).0, 22);
    // Another file asks for more than there is; the pool is not essential.
    let more = "[[pool]]\nsize = \"DEFAULT\"\nmin = \"200%\"\n";
    fs::write(&file, more).unwrap();
    assert_eq!(run("--apply").status, 2);
    assert_eq!(
        tool::hugeadm(dir.path(), &["--rollback"]).status,
        2,
        "no machine is there"
    );
}
