//! `--install-boot` for each init system, below `--sysroot`; format checks of unit and scripts.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

mod fleet;
mod guest;

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::bless::{self, project};
use crate::support::needs;
use crate::support::tool::{Ran, Run, hugeadm};
use crate::support::tree;

use super::world::World;

const UNIT: &str = "etc/systemd/system/hugetools.service";

/// Returns a machine with these directories.
fn machine(dirs: &[&str]) -> TempDir {
    let dir = tree::machine("x86_64-6.18-mthp");
    for name in dirs {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    dir
}

fn ok(dir: &TempDir, option: &str) -> Ran {
    let ran = hugeadm(dir.path(), &[option]);
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

#[test]
fn each_init_system_gets_its_service_and_loses_it_again() {
    for (init, service, link) in [
        (
            "lib/systemd/systemd",
            UNIT,
            "etc/systemd/system/sysinit.target.wants/hugetools.service",
        ),
        (
            "sbin/openrc-run",
            "etc/init.d/hugetools",
            "etc/runlevels/boot/hugetools",
        ),
    ] {
        let dir = machine(&[
            init,
            "etc/init.d",
            "etc/systemd/system/sysinit.target.wants",
            "etc/runlevels/boot",
        ]);
        let before = tree::snapshot(dir.path());
        ok(&dir, "--install-boot");
        let text = fs::read_to_string(dir.path().join(service)).unwrap();
        assert!(text.contains("/usr/bin/hugeadm --apply"), "{text}");
        let to = fs::read_link(dir.path().join(link)).unwrap();
        assert_eq!(to, Path::new("/").join(service));
        let after = tree::snapshot(dir.path());
        assert_eq!(after.len(), before.len() + 2);
        ok(&dir, "--install-boot");
        assert_eq!(tree::snapshot(dir.path()), after, "a second time");
        ok(&dir, "--uninstall-boot");
        assert_eq!(tree::snapshot(dir.path()), before);
        ok(&dir, "--uninstall-boot");
    }
}

#[test]
fn a_changed_service_stays_and_is_named() {
    let dir = machine(&["lib/systemd/systemd"]);
    ok(&dir, "--install-boot");
    let unit = dir.path().join(UNIT);
    let changed = fs::read_to_string(&unit)
        .unwrap()
        .replace("oneshot", "exec");
    fs::write(&unit, &changed).unwrap();
    for option in ["--install-boot", "--uninstall-boot"] {
        let ran = hugeadm(dir.path(), &[option]);
        assert_eq!(ran.status, 1, "{ran:?}");
        let why = format!("/{UNIT}: was changed, or was not written by --install-boot");
        assert!(ran.err.contains(&why), "{ran:?}");
        assert_eq!(fs::read_to_string(&unit).unwrap(), changed);
    }
}

#[test]
fn the_commands_of_a_dry_run_write_the_same_files() {
    let (one, other) = (
        machine(&["sbin/openrc-run", "etc/init.d"]),
        machine(&["sbin/openrc-run", "etc/init.d"]),
    );
    ok(&one, "--install-boot");
    let before = tree::snapshot(other.path());
    let printed = hugeadm(other.path(), &["--dry-run", "--install-boot"]);
    assert_eq!(tree::snapshot(other.path()), before);
    let status = Command::new("sh").args(["-ec", &printed.out]).status();
    assert!(status.unwrap().success(), "{}", printed.out);
    assert_eq!(tree::snapshot(one.path()), tree::snapshot(other.path()));
}

/// The parameters are printed. They have a count for each node if the request names nodes.
#[test]
fn gigantic_pages_become_kernel_parameters() {
    let pools = [
        "--install-boot",
        "--pool-pages-min=1GB@0:1",
        "--pool-pages-min=1GB@0:+1",
        "--pool-pages-min=2MB:9",
    ];
    let words = "hugepagesz=1G hugepages=0:2";
    let dir = machine(&["lib/systemd/systemd"]);
    let ran = hugeadm(dir.path(), &pools);
    assert_eq!(ran.status, 0, "{ran:?}");
    let message = format!("{words}\n  add them to the boot loader's configuration");
    assert!(ran.err.contains(&message), "{ran:?}");
    // No advice if the kernel command line has them already.
    fs::write(dir.path().join("proc/cmdline"), words).unwrap();
    let ran = hugeadm(dir.path(), &pools);
    assert!(!ran.err.contains(words), "{ran:?}");
}

#[test]
fn a_running_systemd_is_reloaded_once_per_change() {
    let mut world = World::new("x86_64-8node", |sim| sim);
    for path in [
        "/etc",
        "/etc/systemd",
        "/etc/systemd/system",
        "/run/systemd/system",
    ] {
        world.paths.insert(path.into(), super::world::ROOT_DIR);
    }
    let reloads = |world: &World| {
        let calls = world.calls.iter();
        calls
            .filter(|call| *call == "run systemctl daemon-reload")
            .count()
    };
    for (option, count) in [
        ("--install-boot", 1),
        ("--install-boot", 1),
        ("--uninstall-boot", 2),
        ("--uninstall-boot", 2),
    ] {
        world.run(&[option]);
        assert_eq!(reloads(&world), count, "{option}");
    }
    assert!(world.installed.is_empty());
}

#[test]
fn systemd_accepts_the_unit() {
    let test = "systemd accepts the unit";
    if !needs::programs(test, &["systemd-analyze"]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let unit = dir.path().join("hugetools.service");
    let text = bless::read_text("crates/admin/share/hugetools.service");
    fs::write(&unit, text.replace("/usr/bin/hugeadm", "/bin/true")).unwrap();
    let mut command = Command::new("systemd-analyze");
    let ran = command.args(["verify", "--man=no"]).arg(&unit).ran();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn shellcheck_accepts_the_scripts() {
    if !needs::programs("shellcheck accepts the scripts", &["shellcheck"]) {
        return;
    }
    let share = project("crates/admin/share");
    let mut command = Command::new("shellcheck");
    command.current_dir(share);
    let scripts = ["slurm/prolog", "slurm/epilog"];
    let ran = command.args(scripts).ran();
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
    // shellcheck doesn't know openrc-run.
    let openrc = bless::read_text("crates/admin/share/hugetools.openrc");
    assert!(openrc.starts_with("#!/sbin/openrc-run"));
    let status = Command::new("sh").args(["-nc", &openrc]).status();
    assert!(status.unwrap().success());
}
