//! Plans run on a kernel that answers: it gives less than asked, refuses, or
//! fails half way.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use hugetools_admin::apply::apply;
use hugetools_admin::args::Args;
use hugetools_admin::effects::{Effects, Found, Ran};
use hugetools_admin::plan::{Mount, Owner, Plan, plan};
use hugetools_admin::report::{Level, NotRun, Outcome, Status, TaskReport, messages, status};
use hugetools_admin::request::Request;
use hugetools_model::node::NodeId;
use hugetools_model::sim::Sim;
use hugetools_model::{KPath, Machine, PageSize, Root};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::tree;

const EARLIER_FAILED: Outcome = Outcome::NotRun {
    why: NotRun::EarlierFailed,
};

const NODES: &str = "x86_64-8node";

fn size(text: &str) -> PageSize {
    text.parse().unwrap()
}

/// A machine with a kernel, directories and mounts.
struct World {
    dir: TempDir,
    root: Root,
    there: BTreeMap<PathBuf, Owner>,
    refused: Option<(&'static str, i32)>,
}

const ROOT_DIR: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o755,
};

impl World {
    fn new(machine: &str, kernel: impl Fn(Sim) -> Sim) -> World {
        let dir = tree::machine(machine);
        let root = Root::simulated(dir.path(), kernel(Sim::new(dir.path())));
        World {
            dir,
            root,
            there: BTreeMap::from([(PathBuf::from("/"), ROOT_DIR)]),
            refused: None,
        }
    }

    fn now(&self) -> Machine {
        Machine::read(&self.root).unwrap()
    }

    /// Persistent pages and maximum of a size.
    fn pool(&self, size: PageSize) -> (u64, u64) {
        let machine = self.now();
        let pool = machine.pool(size).unwrap();
        (pool.minimum().get(), pool.maximum().get())
    }

    fn plan(&self, args: &[&str]) -> Plan {
        let argv = [&["hugeadm"], args].concat();
        let args = Args::read(argv.iter().map(Into::into).collect()).unwrap();
        let machine = self.now();
        let group = |_: &str| Ok(Some(7));
        plan(&machine, &Request::new(&args, &machine, &group).unwrap())
    }

    fn run(&mut self, args: &[&str]) -> Vec<TaskReport> {
        let plan = self.plan(args);
        let root = self.root.clone();
        apply(&plan, &root, self)
    }

    fn refuses(&self, call: &str) -> io::Result<()> {
        match self.refused {
            Some((refused, errno)) if refused == call => Err(io::Error::from_raw_os_error(errno)),
            _ => Ok(()),
        }
    }
}

impl Effects for World {
    fn look(&mut self, path: &Path) -> io::Result<Option<Found>> {
        Ok(self.there.get(path).map(|owner| Found {
            directory: true,
            owner: *owner,
        }))
    }

    fn make_dir(&mut self, path: &Path, mode: u32) -> io::Result<()> {
        self.refuses("make_dir")?;
        assert!(
            self.there.contains_key(path.parent().unwrap()),
            "{}",
            path.display()
        );
        let owner = Owner {
            uid: 5,
            gid: 5,
            mode,
        };
        assert_eq!(self.there.insert(path.to_owned(), owner), None);
        Ok(())
    }

    fn own(&mut self, path: &Path, owner: Owner) -> io::Result<Ran> {
        self.refuses("own")?;
        self.there.insert(path.to_owned(), owner).unwrap();
        Ok(Ran::Yes)
    }

    fn mount(&mut self, mount: &Mount) -> io::Result<Ran> {
        self.refuses("mount")?;
        let path = self.dir.path().join("proc/self/mountinfo");
        let mut table = std::fs::OpenOptions::new().append(true).open(path)?;
        let (point, bytes) = (mount.point.display(), mount.size.get());
        io::Write::write_all(
            &mut table,
            format!("90 1 0:90 / {point} rw - hugetlbfs none rw,pagesize={bytes}\n").as_bytes(),
        )?;
        self.there.insert(mount.point.clone(), mount.owner).unwrap();
        Ok(Ran::Yes)
    }
}

fn outcomes(tasks: &[TaskReport]) -> Vec<&Outcome> {
    tasks
        .iter()
        .flat_map(|task| &task.steps)
        .map(|step| &step.outcome)
        .collect()
}

fn lines(tasks: &[TaskReport]) -> Vec<String> {
    let wanted = messages(tasks)
        .into_iter()
        .filter(|message| message.level < Level::Info);
    wanted.map(|message| message.text).collect()
}

#[test]
fn the_maximum_is_preserved_where_it_can_be() {
    // The examples of the classic algorithm: 10 pages, overcommit 5.
    for (option, spec, after) in [
        ("--pool-pages-min", "2MB:12", (12, 15)),
        ("--pool-pages-min", "2MB:8", (8, 15)),
        ("--pool-pages-min", "2MB:20", (20, 20)),
        ("--pool-pages-max", "2MB:30", (10, 30)),
        ("--pool-pages-max", "2MB:4", (4, 4)),
    ] {
        let mut world = World::new(NODES, |sim| sim);
        world.run(&["--pool-pages-min", "2MB:10", "--pool-pages-max", "2MB:15"]);
        assert_eq!(world.pool(size("2M")), (10, 15));
        let tasks = world.run(&[option, spec]);
        assert_eq!(status(&tasks), Status::Done);
        assert_eq!(world.pool(size("2M")), after, "{option} {spec}");
    }
}

#[test]
fn a_pool_that_cannot_be_filled_ends_short_with_the_figure() {
    let mut world = World::new(NODES, |sim| sim.room(None, size("2M"), 900));
    let tasks = world.run(&["--pool-pages-min", "DEFAULT:2048MB"]);
    assert_eq!(status(&tasks), Status::Short);
    assert_eq!(
        *outcomes(&tasks)[0],
        Outcome::Short {
            asked: 1024,
            got: 900
        }
    );
    let told = lines(&tasks);
    assert!(
        told[0].starts_with("/proc/sys/vm/nr_hugepages: asked 1024, got 900\n"),
        "{told:?}"
    );
    // What is missing may still come on demand.
    assert_eq!(world.pool(size("2M")), (900, 1024));
}

#[test]
fn a_node_that_cannot_give_its_share_is_named() {
    let mut world = World::new(NODES, |sim| sim.room(Some(NodeId::new(1)), size("2M"), 20));
    let tasks = world.run(&["--pool-pages-min", "2MB@0-1,4:70"]);
    assert_eq!(status(&tasks), Status::Short);
    let told = lines(&tasks);
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("node1/hugepages/hugepages-2048kB/nr_hugepages: asked 70, got 20"));
    assert!(
        told[1].contains("node 4 has no memory of its own"),
        "{told:?}"
    );
    // 70 and 20 and 0, and the 10 of node 3; what is missing is overcommit.
    assert_eq!(world.pool(size("2M")), (100, 220));
}

#[test]
fn pages_in_use_do_not_count_as_persistent() {
    let mut world = World::new(NODES, |sim| sim.used(size("1G"), 3));
    assert_eq!(
        status(&world.run(&["--pool-pages-min", "1GB:3"])),
        Status::Done
    );
    let tasks = world.run(&["--pool-pages-min", "1GB:1"]);
    assert_eq!(
        *outcomes(&tasks)[0],
        Outcome::Changed {
            from: Some(3),
            to: Some(1)
        }
    );
    let pool = world.now().pool(size("1G")).unwrap().clone();
    assert_eq!((pool.total.get(), pool.surplus.get()), (3, 2));
}

#[test]
fn the_kernel_is_asked_for_gigantic_overcommit_and_its_refusal_reported() {
    let mut world = World::new(NODES, |sim| sim);
    let tasks = world.run(&["--pool-pages-max", "1GB:4", "--pool-pages-min", "2MB:80"]);
    assert_eq!(status(&tasks), Status::Failed);
    let told = lines(&tasks);
    assert!(told[0].contains("nr_overcommit_hugepages: invalid argument (EINVAL)\n  gigantic"));
    assert_eq!(world.pool(size("2M")).0, 80);
}

#[test]
fn a_failed_step_leaves_the_rest_of_its_task_and_no_other() {
    let pool = "/proc/sys/vm/nr_hugepages";
    let mut world = World::new(NODES, |sim| sim.refuse(pool, libc::EPERM));
    let tasks = world.run(&["--pool-pages-min", "2MB:100", "--pool-pages-min", "1GB:1"]);
    assert!(matches!(outcomes(&tasks)[0], Outcome::Failed(f) if f.errno == Some(libc::EPERM)));
    assert_eq!(*outcomes(&tasks)[1], EARLIER_FAILED);
    assert!(matches!(outcomes(&tasks)[2], Outcome::Changed { .. }));
    assert_eq!(status(&tasks), Status::Failed);
    let told = lines(&tasks);
    assert_eq!(
        told[0],
        "cannot write 100 to /proc/sys/vm/nr_hugepages: operation not permitted (EPERM)\n  \
         run it as root; with --dry-run it prints what it would do"
    );
}

#[test]
fn mounts_are_made_once_and_mended_after() {
    let mut world = World::new("x86_64-no-1g", |sim| sim);
    let point = Path::new("/var/lib/hugetlbfs/global/pagesize-2MB");
    assert_eq!(
        status(&world.run(&["--create-global-mounts"])),
        Status::Done
    );
    let everybody = Owner {
        uid: 0,
        gid: 0,
        mode: 0o1777,
    };
    assert_eq!(world.there[point], everybody);
    assert_eq!(
        world.there[Path::new("/var/lib/hugetlbfs/global")],
        ROOT_DIR
    );
    let tasks = world.run(&["--create-global-mounts"]);
    assert_eq!(outcomes(&tasks), [&Outcome::Unchanged { value: None }]);

    world.there.insert(point.to_owned(), ROOT_DIR);
    let tasks = world.run(&["--create-global-mounts"]);
    assert!(matches!(outcomes(&tasks)[..], [Outcome::Changed { .. }]));
    assert_eq!(world.there[point], everybody);
}

#[test]
fn a_mount_that_fails_is_reported_with_what_to_do() {
    for (call, errno, told) in [
        (
            "make_dir",
            libc::EACCES,
            "cannot make directory /var: permission denied (EACCES)\n  run it as root",
        ),
        (
            "mount",
            libc::ENODEV,
            "cannot mount a hugetlbfs on /var/lib/hugetlbfs/pagesize-2MB: no such device (ENODEV)\n  \
             this kernel has no hugetlbfs",
        ),
        (
            "own",
            libc::EROFS,
            "cannot make directory /var: read-only file system (EROFS)\n  this is mounted read-only",
        ),
    ] {
        let mut world = World::new("x86_64-no-1g", |sim| sim);
        world.refused = Some((call, errno));
        let tasks = world.run(&["--create-mounts"]);
        assert_eq!(status(&tasks), Status::Failed);
        let lines = lines(&tasks);
        assert!(lines[0].starts_with(told), "{lines:?}");
    }
}

#[test]
fn another_page_size_on_our_mount_point_is_left_alone() {
    let mut world = World::new("x86_64-no-1g", |sim| sim);
    world.run(&["--create-mounts"]);
    let table = world.dir.path().join("proc/self/mountinfo");
    let root = Root::at(world.dir.path()).unwrap();
    let path = KPath::from("/proc/self/mountinfo");
    let text = String::from_utf8(root.read(&path).unwrap()).unwrap();
    let text = text.replace("pagesize=2097152", "pagesize=1024M");
    io::Write::write_all(
        &mut std::fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(table)
            .unwrap(),
        text.as_bytes(),
    )
    .unwrap();
    let tasks = world.run(&["--create-mounts"]);
    assert_eq!(
        lines(&tasks),
        [
            "/var/lib/hugetlbfs/pagesize-2MB: a hugetlbfs with pages of 1GB is mounted there\n  \
          umount /var/lib/hugetlbfs/pagesize-2MB and run this again"
        ]
    );
    assert_eq!(status(&tasks), Status::Failed);
}

fn specs() -> impl Strategy<Value = Vec<String>> {
    let amount = prop_oneof![
        (0..400u64).prop_map(|n| n.to_string()),
        (1..50u64).prop_map(|n| format!("{}M", 2 * n)),
        (1..40u64).prop_map(|n| format!("{n}%")),
    ];
    let sign = prop_oneof![Just(""), Just("+"), Just("-")];
    let minimum = prop_oneof![
        Just("--pool-pages-min=2MB"),
        Just("--pool-pages-min=DEFAULT")
    ];
    let one = (minimum, sign, amount).prop_map(|(to, sign, amount)| format!("{to}:{sign}{amount}"));
    let maximum = (0..500u64).prop_map(|n| format!("--pool-pages-max=DEFAULT:{n}"));
    prop::collection::vec(prop_oneof![3 => one, 1 => maximum], 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever room the kernel has, the report says what the pool is, and
    /// running the same absolute plan again changes nothing more.
    #[test]
    fn the_report_is_the_truth(specs in specs(), room in 0..600u64) {
        let mut world = World::new(NODES, |sim| sim.room(None, size("2M"), room));
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let plan = world.plan(&specs);
        let root = world.root.clone();
        let tasks = apply(&plan, &root, &mut world);
        let steps: usize = plan.tasks.iter().map(|task| task.steps.len()).sum();
        prop_assert_eq!(outcomes(&tasks).len(), steps);
        let (persistent, _) = world.pool(size("2M"));
        let nr = |step: &&hugetools_admin::report::StepReport| step.path.ends_with("/nr_hugepages");
        let last = tasks.iter().flat_map(|task| &task.steps).filter(nr).last();
        let told = match last.map(|step| &step.outcome) {
            Some(Outcome::Short { got, .. }) => Some(*got),
            Some(Outcome::Changed { to, .. }) => *to,
            Some(Outcome::Unchanged { value }) => *value,
            _ => None,
        };
        prop_assert!(told.is_none_or(|told| told == persistent));
        let short = outcomes(&tasks).iter().any(|o| matches!(o, Outcome::Short { .. }));
        prop_assert_eq!(status(&tasks) == Status::Short, short);
        prop_assert!(short || persistent <= room || last.is_none());
    }

    /// A run that reached its aims leaves nothing for the next one.
    #[test]
    fn a_second_run_finds_everything_done(pages in 0..500u64, more in 0..200u64, node in 0..300u64) {
        let mut world = World::new(NODES, |sim| sim);
        let minimum = format!("2MB:{pages}");
        let maximum = format!("2MB:{}", pages + more);
        let args = ["--pool-pages-min", &minimum, "--pool-pages-max", &maximum, "--set-shm-group", "x"];
        for second in [false, true] {
            let tasks = world.run(&args);
            prop_assert_eq!(status(&tasks), Status::Done);
            let unchanged = outcomes(&tasks)
                .iter()
                .all(|outcome| matches!(outcome, Outcome::Unchanged { .. }));
            prop_assert!(!second || unchanged);
        }
        prop_assert_eq!(world.pool(size("2M")), (pages, pages + more));
        let share = format!("2MB@0,6:{node}");
        prop_assert_eq!(status(&world.run(&["--pool-pages-min", &share])), Status::Done);
        let machine = world.now();
        let nodes = [0, 6].map(|id| machine.node(NodeId::new(id)).unwrap().pool(size("2M")).unwrap().total.get());
        prop_assert_eq!(nodes, [node, node]);
    }

    /// After any number of writes the kernel may fail: every step is in the
    /// report, and every task has at most one failure.
    #[test]
    fn failing_half_way_is_reported_whole(specs in specs(), writes in 0..6u32) {
        let mut world = World::new(NODES, |sim| sim.fail_after(writes));
        let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
        let plan = world.plan(&specs);
        let root = world.root.clone();
        let tasks = apply(&plan, &root, &mut world);
        for (task, planned) in tasks.iter().zip(&plan.tasks) {
            prop_assert_eq!(task.steps.len(), planned.steps.len());
            let failed = task.steps.iter().position(|s| matches!(s.outcome, Outcome::Failed(_)));
            let after = task.steps.iter().skip(failed.map_or(usize::MAX, |n| n + 1));
            let rest_not_run = after.into_iter().all(|s| s.outcome == EARLIER_FAILED);
            prop_assert!(rest_not_run);
        }
        let failed = outcomes(&tasks).iter().any(|o| matches!(o, Outcome::Failed(_)));
        prop_assert_eq!(status(&tasks) == Status::Failed, failed);
    }
}
