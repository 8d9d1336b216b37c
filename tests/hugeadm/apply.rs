//! Runs plans on a simulated kernel that lacks memory or refuses writes and calls.

mod config;
mod growth;

use hugetools_admin::report::{Outcome, Status, status};
use hugetools_model::KPath;

use super::world::{EARLIER_FAILED, NODES, World, lines, outcomes, size};

#[test]
fn a_short_allocation_reports_the_pages_obtained() {
    let mut world = World::new(NODES, |sim| sim.room(None, size("2M"), 900));
    let tasks = world.run(&["--pool-pages-min", "DEFAULT:2048MB"]);
    assert_eq!(status(&tasks), Status::Short);
    assert_eq!(
        *outcomes(&tasks)[0],
        Outcome::Short {
            asked: 1024,
            got: 900,
            tried: vec!["/proc/sys/vm/compact_memory".to_owned()],
            interrupted: false,
        }
    );
    let printed = lines(&tasks);
    assert!(
        printed[0].starts_with("/proc/sys/vm/nr_hugepages: asked 1024, got 900\n"),
        "{printed:?}"
    );
    // The kernel may still allocate the missing pages on demand.
    assert_eq!(world.pool(size("2M")), (900, 1024));
}

#[test]
fn pages_in_use_become_surplus_when_a_pool_shrinks() {
    let mut world = World::new(NODES, |sim| sim.used(size("1G"), 3));
    assert_eq!(
        status(&world.run(&["--pool-pages-min", "1GB:3"])),
        Status::Done
    );
    let tasks = world.run(&["--pool-pages-min", "1GB:1"]);
    assert!(matches!(
        outcomes(&tasks)[0],
        Outcome::Short {
            asked: 1,
            got: 3,
            ..
        }
    ));
    assert_eq!(status(&tasks), Status::Short);
    let printed = lines(&tasks).join("\n");
    let figures = "asked 1, got 3\n  2 more pages are in use or reserved";
    assert!(printed.contains(figures), "{printed}");
    // No second warning: the pages in use are surplus now.
    let again = world.run(&["--pool-pages-min", "1GB:1"]);
    assert_eq!(status(&again), Status::Done);
    let pool = world.now().pool(size("1G")).unwrap().clone();
    assert_eq!((pool.total.get(), pool.surplus.get()), (3, 2));
}

#[test]
fn a_maximum_below_the_pages_in_use_falls_short() {
    let mut world = World::new(NODES, |sim| sim.used(size("2M"), 5));
    let _ = world.run(&["--pool-pages-min", "2MB:0", "--pool-pages-max", "2MB:9"]);
    // The second run finds this number in the file and still warns.
    for _ in 0..2 {
        let tasks = world.run(&["--pool-pages-max", "2MB:2"]);
        assert_eq!(status(&tasks), Status::Short);
        let printed = lines(&tasks).join("\n");
        let figures = "nr_overcommit_hugepages: asked 2, got 5\n  3 more pages are in use";
        assert!(printed.contains(figures), "{printed}");
    }
    let tasks = world.run(&["--pool-pages-max", "2MB:5"]);
    assert_eq!(status(&tasks), Status::Done);
}

#[test]
fn a_failed_mount_removes_its_new_directories() {
    let mut world = World::new("x86_64-no-1g", |sim| sim);
    let before = world.paths.clone();
    world.refused = Some(("mount", libc::ENOMEM));
    let tasks = world.run(&["--create-user-mounts=x", "--create-mounts"]);
    assert_eq!(status(&tasks), Status::Failed);
    assert_eq!(world.paths, before);
    let all_messages = |tasks: &[hugetools_admin::report::TaskReport]| {
        let all = hugetools_admin::report::messages(tasks).into_iter();
        all.map(|message| message.text)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert!(
        all_messages(&tasks).contains("/user/x: not made: a later step failed, so it was removed"),
        "{}",
        all_messages(&tasks)
    );
    // An existing directory is kept.
    world.refused = None;
    assert_eq!(status(&world.run(&["--create-mounts"])), Status::Done);
    let before = world.paths.clone();
    world.refused = Some(("mount", libc::ENOMEM));
    let _ = world.run(&["--create-global-mounts"]);
    assert_eq!(world.paths, before);
}

#[test]
fn refused_gigantic_overcommit_is_reported() {
    let mut world = World::new(NODES, |sim| sim);
    let tasks = world.run(&["--pool-pages-max", "1GB:4", "--pool-pages-min", "2MB:80"]);
    assert_eq!(status(&tasks), Status::Failed);
    let printed = lines(&tasks);
    let why = "nr_overcommit_hugepages: gigantic pages have no overcommit before Linux 6.19\n";
    assert!(printed[0].contains(why), "{printed:?}");
    assert_eq!(world.pool(size("2M")).0, 80);
}

#[test]
fn a_failed_step_ends_its_task_only() {
    let pool = "/proc/sys/vm/nr_hugepages";
    let mut world = World::new(NODES, |sim| sim.refuse(pool, libc::EPERM));
    let tasks = world.run(&["--pool-pages-min", "2MB:100", "--pool-pages-min", "1GB:1"]);
    assert!(matches!(outcomes(&tasks)[0], Outcome::Failed(f) if f.errno == Some(libc::EPERM)));
    assert_eq!(*outcomes(&tasks)[1], EARLIER_FAILED);
    let unchanged_maximum = 81;
    assert_eq!(world.pool(size("2M")).1, unchanged_maximum);
    assert!(matches!(outcomes(&tasks)[2], Outcome::Changed { .. }));
    assert_eq!(status(&tasks), Status::Failed);
    let printed = lines(&tasks);
    assert_eq!(
        printed[0],
        "cannot write 100 to /proc/sys/vm/nr_hugepages: operation not permitted (EPERM)\n  \
         run it as root; --dry-run prints the commands instead\n  \
         1 more step of --pool-pages-min 2MB:100 is skipped"
    );
}

#[test]
fn a_failed_mount_is_reported_with_advice() {
    for (call, errno, expected) in [
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
            "cannot make directory /var: read-only file system (EROFS)\n  the file system is read-only",
        ),
    ] {
        let mut world = World::new("x86_64-no-1g", |sim| sim);
        world.refused = Some((call, errno));
        let tasks = world.run(&["--create-mounts"]);
        assert_eq!(status(&tasks), Status::Failed);
        let lines = lines(&tasks);
        assert!(lines[0].starts_with(expected), "{lines:?}");
    }
}

#[test]
fn a_mount_with_another_page_size_is_left_alone() {
    let mut world = World::new("x86_64-no-1g", |sim| sim);
    world.run(&["--create-mounts"]);
    let path = KPath::from("/proc/self/mountinfo");
    let text = String::from_utf8(world.root.read(&path).unwrap()).unwrap();
    let text = text.replace("pagesize=2097152", "pagesize=1024M");
    world.root.write(&path, text.trim_end()).unwrap();
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

#[test]
fn root_in_a_user_namespace_is_not_told_to_run_as_root() {
    let pool = "/proc/sys/vm/nr_hugepages";
    for (is_root, expected) in [(false, "run it as root"), (true, "CAP_SYS_ADMIN")] {
        let mut world = World::new(NODES, |sim| sim.refuse(pool, libc::EACCES));
        world.is_root = is_root;
        let printed = lines(&world.run(&["--pool-pages-min", "2MB:100"])).join("\n");
        assert!(printed.contains(expected), "{printed}");
        assert_eq!(printed.contains("run it as root"), !is_root, "{printed}");
    }
}
