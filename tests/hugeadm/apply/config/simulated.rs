//! Configuration files on a simulated kernel, where pools are the sums of their nodes.

use std::path::PathBuf;

use hugetools_admin::apply;
use hugetools_admin::config::check::{Difference, differences};
use hugetools_admin::config::source::Source;
use hugetools_admin::config::{record, requests, save};
use hugetools_admin::effects::Effects;
use hugetools_admin::plan::{Plan, Refusal};
use hugetools_admin::report::{Status, status};
use hugetools_admin::step::{Owner, Step};
use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::sim::Sim;
use proptest::prelude::*;

use super::machines_with_pools;
use crate::hugeadm::world::{NODES, World, lines, size};
use crate::support::cases;
use crate::support::tree::{Snapshot, difference, snapshot, text as tree_text, write};

/// Returns a machine whose recorded mounts have directories.
fn machine(name: &str, kernel: impl Fn(Sim) -> Sim) -> World {
    let mut world = World::new(name, kernel);
    let owner = Owner {
        uid: 0,
        gid: 0,
        mode: 0o1777,
    };
    for mount in world.now().mounts {
        let dirs = mount.point.ancestors().map(|dir| (dir.to_owned(), owner));
        world.paths.extend(dirs);
    }
    world
}

fn planned(world: &mut World, text: &str) -> Plan {
    let source = Source::new(PathBuf::from("pools.toml"), text.to_owned()).unwrap();
    let machine = world.now();
    requests::plan(&[source], &machine, None, true, world).unwrap()
}

fn differing(world: &mut World, plan: &Plan) -> Vec<Difference> {
    let root = world.root.clone();
    differences(plan, &root, world).unwrap()
}

fn apply(world: &mut World, text: &str) -> Status {
    let plan = planned(world, text);
    let root = world.root.clone();
    let mut found = Status::Done;
    let mut change = |effects: &mut dyn Effects| {
        found = status(&apply::apply(&plan, &root, effects));
        found
    };
    record::apply(&plan, &root, world, &mut change).unwrap();
    found
}

fn roll_back(world: &mut World) {
    let plan = record::plan(&world.now(), true, world).unwrap().unwrap();
    let root = world.root.clone();
    let mut change = |effects: &mut dyn Effects| status(&apply::apply(&plan, &root, effects));
    record::roll_back(world, &mut change).unwrap();
    assert!(record::plan(&world.now(), true, world).unwrap().is_none());
}

/// Returns the files of the tree and the simulated directories.
fn state(world: &World) -> (Snapshot, Vec<PathBuf>) {
    let dirs = world
        .paths
        .keys()
        .filter(|path| !path.starts_with("/var/lib/hugetools"));
    let dirs = dirs.filter(|path| !["/var", "/var/lib"].contains(&path.to_str().unwrap()));
    (snapshot(world.dir.path()), dirs.cloned().collect())
}

const MOUNT: &str = "[[mount]]\nfor = \"root\"\n";

fn pools() -> impl Strategy<Value = String> {
    let amount = || {
        prop_oneof![
            (0..30u64).prop_map(|pages| pages.to_string()),
            (2..40u64).prop_map(|pages| format!("\"{}MB\"", 16 * pages)),
        ]
    };
    let pages = prop_oneof![
        amount().prop_map(|amount| format!("min = {amount}\n")),
        amount().prop_map(|amount| format!("nodes = {{ 0 = {amount} }}\n")),
        amount().prop_map(|amount| format!("spread = {amount}\n")),
    ];
    let max = prop_oneof![Just(""), Just("max = 600\n")];
    let mount = prop_oneof![Just(""), Just(MOUNT)];
    (pages, max, mount).prop_map(|(pages, max, mount)| {
        format!("[[pool]]\nsize = \"DEFAULT\"\n{pages}{max}{mount}")
    })
}

proptest! {
    #![proptest_config(cases(16))]

    /// After an apply nothing differs. A rollback, or the file saved before, restores every byte.
    #[test]
    fn files_are_applied_and_rolled_back(
        name in prop::sample::select(machines_with_pools()),
        first in pools(),
        second in pools(),
    ) {
        let mut world = machine(&name, |sim| sim);
        let has_mounts = world.dir.path().join("proc/self/mountinfo").exists();
        for mut text in [first, second] {
            if !has_mounts {
                text = text.replace(MOUNT, "");
            }
            let before = state(&world);
            let saved = save::text(&world.now());
            let plan = planned(&mut world, &text);
            // An apply that changes nothing keeps the previous record.
            if plan.refusal.is_some() || differing(&mut world, &plan).is_empty() {
                continue;
            }
            prop_assert_eq!(apply(&mut world, &text), Status::Done);
            let plan = planned(&mut world, &text);
            prop_assert_eq!(differing(&mut world, &plan), [], "{}: {}", name, text);
            let applied = state(&world);
            world.apply(&plan);
            prop_assert_eq!(difference(&applied.0, &state(&world).0), [""; 0]);
            roll_back(&mut world);
            let now = state(&world);
            prop_assert_eq!(difference(&before.0, &now.0), [""; 0], "{}: {}", name, text);
            prop_assert_eq!(&before.1, &now.1, "{}: {}", name, text);
            if !text.contains("[[mount]]") {
                apply(&mut world, &text);
                apply(&mut world, &saved);
                let now = state(&world);
                prop_assert_eq!(difference(&before.0, &now.0), [""; 0], "{}: {}", name, saved);
            }
            apply(&mut world, &text);
        }
    }
}

const NODE_3: &str = "/sys/devices/system/node/node3/hugepages/hugepages-2048kB/nr_hugepages";

/// The pool of one node is changed by hand; the whole pool changes with it.
#[test]
fn a_manual_change_of_a_node_is_found() {
    let mut world = machine(NODES, |sim| sim);
    let before = state(&world);
    let saved = save::text(&world.now());
    world.run(&["--pool-pages-min", "2MB@3:11", "--pool-pages-max", "2MB:82"]);
    let plan = planned(&mut world, &saved);
    let found = differing(&mut world, &plan);
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.file.as_str(), it.is.as_str()))
        .collect();
    assert_eq!(found, [(NODE_3, "11")]);
    assert_eq!(apply(&mut world, &saved), Status::Done);
    assert_eq!(difference(&before.0, &state(&world).0), [""; 0]);
}

/// A pool that falls short is an error with the figure, or a warning if it is not essential.
#[test]
fn a_shortage_counts_if_the_pool_is_essential() {
    for (essential, expected) in [(true, Status::Short), (false, Status::Done)] {
        let mut world = machine(NODES, |sim| sim.room(None, size("2M"), 80));
        let text = format!("[[pool]]\nsize = \"2MB\"\nmin = 90\nessential = {essential}\n");
        let plan = planned(&mut world, &text);
        let tasks = world.apply(&plan);
        assert_eq!(status(&tasks), expected);
        assert!(lines(&tasks)[0].contains("asked 90, got 80"), "{tasks:?}");
        let plan = planned(&mut world, &text);
        let found = differing(&mut world, &plan);
        assert!(
            found.iter().any(|it| it.should.as_deref() == Some("90")),
            "{found:?}"
        );
    }
}

#[test]
fn try_hard_retries_after_pauses() {
    for (keys, pauses) in [("", 0), ("try = \"hard\"\n", 5)] {
        let mut world = machine(NODES, |sim| sim.room(None, size("2M"), 80));
        let plan = planned(
            &mut world,
            &format!("[[pool]]\nsize = \"2MB\"\nmin = 90\n{keys}"),
        );
        world.apply(&plan);
        let count = world
            .calls
            .iter()
            .filter(|call| call.starts_with("pause"))
            .count();
        assert_eq!(count, pauses, "{keys}");
    }
}

/// Repeated applies that fall short, as at each boot, keep the first record.
#[test]
fn repeated_shortages_keep_the_record() {
    let mut world = machine(NODES, |sim| sim.room(None, size("2M"), 80));
    let pool = |min| format!("[[pool]]\nsize = \"2MB\"\nmin = {min}\nmax = 200\n");
    assert_eq!(apply(&mut world, &pool(76)), Status::Done);
    for _ in 0..3 {
        assert_eq!(apply(&mut world, &pool(90)), Status::Short);
        assert_eq!(world.pool(size("2M")), (80, 200));
    }
    roll_back(&mut world);
    assert_eq!(world.pool(size("2M")), (76, 200));
    // Without `max`, the maximum does not grow either.
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 90\n";
    for _ in 0..3 {
        assert_eq!(apply(&mut world, text), Status::Short);
        assert_eq!(world.pool(size("2M")), (80, 200));
    }
}

/// A rollback restores the state before a failed apply, even after another apply.
#[test]
fn a_rollback_after_a_failed_apply_is_complete() {
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 90\nmax = 200\n[memory]\nmin_free = \"1GB\"\n";
    let more = format!("{text}hvo = true\n[shm]\nmax = \"1GB\"\n");
    let refused = "/proc/sys/vm/hugetlb_optimize_vmemmap";
    let mut world = machine(NODES, |sim| sim.refuse(refused, libc::EPERM));
    let before = state(&world);
    assert_eq!(apply(&mut world, &more), Status::Failed);
    assert_eq!(apply(&mut world, text), Status::Done);
    roll_back(&mut world);
    assert_eq!(difference(&before.0, &state(&world).0), [""; 0]);
}

/// Other programs may use the memory of the node's former pages by now.
#[test]
fn a_rollback_of_a_node_leaves_memory_to_other_programs() {
    let mut world = machine(NODES, |sim| sim);
    let text = "[[pool]]\nsize = \"2MB\"\nnodes = { 0 = 0 }\n";
    assert_eq!(apply(&mut world, text), Status::Done);
    let meminfo = world.dir.path().join("proc/meminfo");
    let lines = tree_text(&meminfo);
    let lines = lines
        .lines()
        .map(|line| match line.starts_with("MemAvailable:") {
            true => "MemAvailable: 600000 kB\n".to_owned(),
            false => format!("{line}\n"),
        });
    write(&meminfo, &lines.collect::<String>());
    let plan = record::plan(&world.now(), false, &mut world)
        .unwrap()
        .unwrap();
    assert!(
        matches!(plan.refusal, Some(Refusal::Harmful(_))),
        "{plan:?}"
    );
}

/// `recommended` refers to the pools of the file, not to the current ones.
#[test]
fn a_recommended_shmmax_is_set_once() {
    let mut world = machine(NODES, |sim| sim);
    let shmmax = world.dir.path().join("proc/sys/kernel/shmmax");
    write(&shmmax, "4096\n");
    let text = "[[pool]]\nsize = \"2MB\"\nmin = 90\nmax = 200\n[shm]\nmax = \"recommended\"\n";
    assert_eq!(apply(&mut world, text), Status::Done);
    assert_eq!(tree_text(&shmmax).trim(), (400u64 << 20).to_string());
    let plan = planned(&mut world, text);
    assert_eq!(differing(&mut world, &plan), []);
    // Of several changes of a node, the last one counts.
    let others = 90 - world.now().node_minimum(NodeId::new(0), size("2M")).get();
    let node = ["--pool-pages-min=2MB@0:230", "--pool-pages-min=2MB@0:240"];
    world.run(&[node[0], node[1], "--set-recommended-shmmax"]);
    let bytes = (others + 240) << 21;
    assert_eq!(tree_text(&shmmax).trim(), bytes.to_string());
}

fn sources(texts: &[(&str, &str)]) -> Vec<Source> {
    let source = |(path, text): &(&str, &str)| Source::new(path.into(), (*text).to_owned());
    texts.iter().map(|it| source(it).unwrap()).collect()
}

/// Several files count as one. A key set in two of them is an error that names both places.
#[test]
fn files_of_the_directory_add_keys() {
    let mut world = machine(NODES, |sim| sim);
    let now = world.now();
    let first = (
        "a.toml",
        "[thp]\nenabled = \"never\"\n[[pool]]\nsize = \"2MB\"\nmin = 3\n",
    );
    let mut request = |second: &str, host: &str| {
        let sources = sources(&[first, ("b.toml", second)]);
        requests::request(&sources, &now, Some(host), &mut world)
    };
    let more = "[thp]\nmax_ptes_none = 7\n[[pool]]\nsize = \"1GB\"\nmin = 1\n";
    let found = request(more, "db1").unwrap();
    assert_eq!((found.settings.len(), found.pool_min.len()), (2, 2));
    for (second, error) in [
        (
            "[thp]\nenabled = \"always\"\n",
            "b.toml:2:11: enabled = \"always\": enabled of [thp] is set in a.toml:2:11 already; keep one of them",
        ),
        (
            "[[pool]]\nsize = \"DEFAULT\"\nmax = 9\n",
            "b.toml:2:8: size = \"DEFAULT\": the pool of 2MB is set in a.toml:4:8 already; keep one of them",
        ),
    ] {
        assert_eq!(request(second, "db1").unwrap_err(), error);
        let other = format!("[when]\nhost = \"web* db?2\"\n{second}");
        assert_eq!(request(&other, "db1").unwrap().pool_min.len(), 1);
        assert!(request(&other, "web7").is_err());
    }
    // THP modes precede numbers, since a THP mode makes the kernel raise vm.min_free_kbytes.
    let min_free = ("a.toml", "[memory]\nmin_free = \"64MB\"\n");
    let both = sources(&[min_free, ("b.toml", "[thp]\nenabled = \"never\"\n")]);
    let found = requests::request(&both, &now, None, &mut world).unwrap();
    assert!(matches!(found.settings[0].step, Step::SelectWord(_)));
    let other = sources(&[("a.toml", "[when]\nnodes = 2\n[thp]\nenabled = \"never\"\n")]);
    let none = requests::request(&other, &now, None, &mut world).unwrap();
    assert!(none.settings.is_empty() && none.notes[0].contains("no file is for this machine"));
}

/// The record of an earlier apply is replaced.
#[test]
fn an_apply_that_only_mounts_is_rolled_back_alone() {
    let mut world = machine("aarch64-4k", |sim| sim);
    let pool = "[[pool]]\nsize = \"DEFAULT\"\nmin = 20\n";
    assert_eq!(apply(&mut world, pool), Status::Done);
    let before = state(&world);
    assert_eq!(apply(&mut world, &format!("{pool}{MOUNT}")), Status::Done);
    roll_back(&mut world);
    assert_eq!(difference(&before.0, &state(&world).0), [""; 0]);
}
