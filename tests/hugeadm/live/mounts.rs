//! Mounts and their access rights.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hugetools_model::PageSize;
use hugetools_model::mount::mounted_at;
use nix::fcntl::{FallocateFlags, fallocate};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::{is_settled, succeeds_silently};
use crate::support::live::machine;

const BASE: &str = "/var/lib/hugetlbfs";

/// The ID of user and group `daemon` on Debian.
const DAEMON: u32 = 1;

/// Returns owner, group and mode.
fn owner(path: impl AsRef<Path>) -> (u32, u32, u32) {
    let found = path.as_ref().metadata().unwrap();
    (found.uid(), found.gid(), found.mode() & 0o7777)
}

/// Whether a user with one group can create a file in a directory.
fn can_use(path: &Path, uid: u32, gid: u32) -> bool {
    let file = path.join("file");
    let mut command = Command::new("touch");
    command.arg(&file).uid(uid).gid(gid);
    let made = command.output().unwrap().status.success();
    std::fs::remove_file(file).is_ok() && made
}

#[test]
fn mounts_with_owner_and_mode() {
    let Some(live) = machine("mounts") else {
        return;
    };
    let sizes: Vec<PageSize> = live.now().pools.iter().map(|pool| pool.size).collect();
    for (option, base, mode) in [
        ("--create-mounts", "/var/lib/hugetlbfs", 0o770),
        (
            "--create-global-mounts",
            "/var/lib/hugetlbfs/global",
            0o1777,
        ),
    ] {
        succeeds_silently(&live, &[option]);
        let points = sizes
            .iter()
            .map(|size| Path::new(base).join(format!("pagesize-{size}")));
        let points: Vec<PathBuf> = points.collect();
        let mounts = live.now().mounts;
        for (point, size) in points.iter().zip(&sizes) {
            let mount = mounted_at(&mounts, point).unwrap();
            assert_eq!(mount.page_size(), Some(*size));
            assert_eq!(owner(point), (0, 0, mode), "{}", point.display());
        }
        assert!(is_settled(&live, &[option]), "{option}");

        // A modified mount is repaired.
        std::fs::set_permissions(&points[0], Permissions::from_mode(0o700)).unwrap();
        succeeds_silently(&live, &[option]);
        assert_eq!(owner(&points[0]), (0, 0, mode));
    }
    let listed = live.hugeadm(&["--list-all-mounts"]).out;
    assert!(
        listed.contains("/var/lib/hugetlbfs/global/pagesize-"),
        "{listed}"
    );
    succeeds_silently(&live, &["--pool-pages-min", "DEFAULT:+1"]);
    let usable = live.hugeadm(&["--page-sizes"]).out;
    assert!(
        usable
            .lines()
            .any(|line| line == live.default_size().get().to_string())
    );
}

#[test]
fn only_the_user_or_group_can_use_its_mount() {
    let Some(live) = machine("user and group mounts") else {
        return;
    };
    let size = live.default_size();
    let args = [
        "--create-user-mounts=daemon",
        "--create-group-mounts=daemon",
    ];
    succeeds_silently(&live, &args);
    let dirs = ["user", "group"].map(|kind| Path::new(BASE).join(kind).join("daemon"));
    let [user, group] = dirs.clone().map(|dir| dir.join(format!("pagesize-{size}")));
    for path in [&dirs[0], &user] {
        assert_eq!(owner(path), (DAEMON, 0, 0o700), "{}", path.display());
    }
    for path in [&dirs[1], &group] {
        assert_eq!(owner(path), (0, DAEMON, 0o070), "{}", path.display());
    }
    for above in ["", "user", "group"] {
        assert_eq!(owner(Path::new(BASE).join(above)), (0, 0, 0o755), "{above}");
    }
    let nobody = 65534;
    assert!(can_use(&user, DAEMON, nobody) && !can_use(&user, nobody, DAEMON));
    assert!(can_use(&group, nobody, DAEMON) && !can_use(&group, nobody, nobody));

    // A directory that a killed run left to root is repaired.
    std::os::unix::fs::chown(&dirs[0], Some(0), Some(0)).unwrap();
    succeeds_silently(&live, &args);
    assert_eq!(owner(&dirs[0]), (DAEMON, 0, 0o700));
}

/// hugeadm lists the current owner and mode, not those given to the mount call.
#[test]
fn owner_and_mode_are_read_from_the_mount() {
    let Some(live) = machine("owner and mode of a mount") else {
        return;
    };
    let point = live.global_mount();
    std::fs::set_permissions(&point, Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::chown(&point, Some(DAEMON), Some(2)).unwrap();
    let text = live.hugeadm(&["--list-all-mounts"]).out;
    let line = text.lines().find(|line| line.contains(&point)).unwrap();
    assert!(line.contains("uid=1,gid=2,mode=750,pagesize="), "{line}");
    assert!(!line.contains("mode=1777"), "{line}");
    succeeds_silently(&live, &["--create-global-mounts", "--mount-mode=0755"]);
    let text = live.hugeadm(&["--list-all-mounts"]).out;
    let line = text.lines().find(|line| line.starts_with(&point)).unwrap();
    assert!(!line.contains("mode=") && !line.contains("uid="), "{line}");
}

#[test]
fn mounts_have_the_requested_limits() {
    let Some(live) = machine("limits of mounts") else {
        return;
    };
    let size = live.default_size();
    let limits = [
        format!("--max-size={}", 1u64 << 31),
        "--max-inodes=10".to_owned(),
        "--mount-mode=0750".to_owned(),
    ];
    let args = limits.each_ref().map(String::as_str);
    let args = [&args[..], &["--create-mounts"]].concat();
    let ran = live.hugeadm(&args);
    assert_eq!(ran.status, 0, "{ran:?}");
    let point = PathBuf::from(BASE).join(format!("pagesize-{size}"));
    assert_eq!(owner(&point), (0, 0, 0o750));
    let mounts = live.now().mounts;
    let mount = mounted_at(&mounts, &point).unwrap();
    let option = |name: &str| mount.option(name).unwrap().to_owned();
    assert_eq!(option("size"), (1u64 << 31).to_string());
    assert_eq!(option("nr_inodes"), "10");

    let ran = live.hugeadm(&[&args[..], &["-v"]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = live.hugeadm(&["--create-mounts", "--max-inodes=11"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.err
            .contains("there has nr_inodes=10, not nr_inodes=11\n  umount "),
        "{ran:?}"
    );
}

#[test]
fn unmount_removes_all_mounts() {
    let Some(live) = machine("unmounting") else {
        return;
    };
    let size = live.default_size();
    let before = live.now().mounts;
    succeeds_silently(
        &live,
        &[
            "--create-mounts",
            "--create-global-mounts",
            "--create-user-mounts=daemon",
            "--create-group-mounts=daemon",
        ],
    );
    let file = Path::new(BASE).join(format!("global/pagesize-{size}/in-use"));
    let open = std::fs::File::create(&file).unwrap();
    let ran = live.hugeadm(&["--unmount"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.err
            .contains("device or resource busy (EBUSY)\n  it is in use: fuser"),
        "{ran:?}"
    );
    let left = live.now().mounts;
    assert_eq!(
        left.len(),
        before.len() + 1,
        "the others have gone: {left:?}"
    );
    drop(open);
    succeeds_silently(&live, &["--unmount"]);
    assert_eq!(live.now().mounts, before);
    assert!(!Path::new(BASE).exists());
    let ran = live.hugeadm(&["--unmount"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
}

#[test]
fn clear_leaves_the_pages_in_use() {
    let Some(live) = machine("clearing") else {
        return;
    };
    let before = live.now().mounts;
    let size = live.default_size();
    succeeds_silently(
        &live,
        &["--pool-pages-min=DEFAULT:8", "--pool-pages-max=DEFAULT:12"],
    );
    succeeds_silently(&live, &["--create-mounts"]);
    let held = memfd_create(c"held", MFdFlags::MFD_HUGETLB | MFdFlags::MFD_CLOEXEC).unwrap();
    let length = i64::try_from(3 * size.get()).unwrap();
    fallocate(&held, FallocateFlags::empty(), 0, length).unwrap();
    // The commands of a dry run do the same.
    let script = live.hugeadm(&["--dry-run", "--clear"]).out;
    succeeds_silently(&live, &["--clear"]);
    assert_eq!(live.pool(size), (3, 0));
    assert!(live.now().mounts == before && !Path::new(BASE).exists());
    assert!(is_settled(&live, &["--clear"]));
    drop(held);
    // A process that another test is starting may have a copy until it executes its program.
    assert_eq!(live.wait_for_free_pages(3), 3);
    succeeds_silently(&live, &["--create-mounts", "--pool-pages-max=DEFAULT:9"]);
    let ran = Command::new("sh").args(["-ec", &script]).output().unwrap();
    assert!(ran.status.success(), "{script}: {ran:?}");
    assert_eq!(live.pool(size), (0, 0));
    assert_eq!(live.now().mounts, before);
}

/// Users own their directories. A user's symbolic link must not redirect root's mount.
#[test]
fn a_link_does_not_redirect_a_mount() {
    let Some(live) = machine("a link in the place of a mount") else {
        return;
    };
    let size = live.default_size();
    let args = ["--create-user-mounts=daemon"];
    succeeds_silently(&live, &args);
    let user = Path::new(BASE).join("user/daemon");
    let point = user.join(format!("pagesize-{size}"));
    nix::mount::umount(&point).unwrap();
    std::fs::remove_dir(&point).unwrap();
    let victim = tempfile::tempdir().unwrap();
    let before = (owner(victim.path()), live.now().mounts);
    std::os::unix::fs::symlink(victim.path(), &point).unwrap();
    let ran = live.hugeadm(&args);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.err.contains("(ENOTDIR)"), "{ran:?}");
    assert_eq!((owner(victim.path()), live.now().mounts), before);
    std::fs::remove_file(&point).unwrap();
    succeeds_silently(&live, &args);
}
