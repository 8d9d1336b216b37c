//! Checks command lines against a recorded machine.

use std::io;
use std::time::Duration;

use super::*;
use crate::effects::{Account, Found, Growth as Grown, Ran};
use crate::step::{Mount, Owner, Swap};
use hugetools_model::{Bytes, Root, fixture};

/// A host with one user, one group and a few directories.
#[derive(Default)]
struct Host {
    directories: BTreeSet<PathBuf>,
    unfinished: Unfinished,
}

fn account(kind: &str, name: &str) -> Result<Option<Account>, String> {
    match name {
        "postgres" | "108" => Ok(Some(Account {
            id: 108,
            name: "postgres".to_owned(),
            members: Vec::new(),
        })),
        "broken" => Err(format!("cannot read the {kind} database: no answer")),
        "invalid" => Ok(Some(Account {
            id: 9,
            name: "../etc".to_owned(),
            members: Vec::new(),
        })),
        _ => Ok(None),
    }
}

impl Effects for Host {
    fn user(&mut self, name: &str) -> Result<Option<Account>, String> {
        account("user", name)
    }

    fn group(&mut self, name: &str) -> Result<Option<Account>, String> {
        account("group", name)
    }

    fn stat(&mut self, path: &Path) -> io::Result<Option<Found>> {
        let owner = Owner {
            uid: 0,
            gid: 0,
            mode: 0o755,
        };
        let found = self.directories.contains(path);
        Ok(found.then_some(Found {
            directory: true,
            owner,
        }))
    }

    fn names(&mut self, path: &Path) -> io::Result<Vec<OsString>> {
        let below = self.directories.iter();
        let below = below.filter(|dir| dir.parent() == Some(path));
        Ok(below
            .filter_map(|dir| dir.file_name().map(Into::into))
            .collect())
    }

    fn unfinished(&mut self) -> io::Result<Unfinished> {
        Ok(self.unfinished.clone())
    }

    fn make_dir(&mut self, _: &Path, _: u32) -> io::Result<()> {
        unreachable!("a request changes nothing")
    }

    fn remove_dir(&mut self, _: &Path) -> io::Result<()> {
        unreachable!("a request changes nothing")
    }

    fn own(&mut self, _: &Path, _: Owner) -> io::Result<Ran> {
        unreachable!("a request changes nothing")
    }

    fn mount(&mut self, _: &Mount) -> io::Result<Ran> {
        unreachable!("a request changes nothing")
    }

    fn unmount(&mut self, _: &Path) -> io::Result<Ran> {
        unreachable!("a request changes nothing")
    }

    fn room(&mut self, _: &Path) -> io::Result<Bytes> {
        unreachable!("a request changes nothing")
    }

    fn swap_on(&mut self, _: &Swap) -> io::Result<Ran> {
        unreachable!("a request changes nothing")
    }

    fn swap_off(&mut self, _: &Swap) -> io::Result<Ran> {
        unreachable!("a request changes nothing")
    }

    fn sync(&mut self) {}

    fn growth_begins(&mut self, _: &Grown) -> bool {
        false
    }

    fn growth_at(&mut self, _: u64) {}

    fn growth_ends(&mut self) {}

    fn pause(&mut self, _: Duration) {}

    fn is_root(&mut self) -> bool {
        false
    }

    fn interrupted(&mut self) -> bool {
        false
    }

    fn remember(&mut self, _: &Unfinished) -> io::Result<()> {
        Ok(())
    }
}

fn machine() -> Machine {
    let dir = tempfile::tempdir().unwrap();
    let archive = include_str!("../../../../tests/fixtures/x86_64-8node.tree");
    fixture::unpack(archive, dir.path()).unwrap();
    Machine::read(&Root::at(dir.path()).unwrap()).unwrap()
}

fn on(host: &mut Host, args: &[&str]) -> Result<Request, Vec<String>> {
    let machine = machine();
    let argv = [&["hugeadm"], args].concat();
    let args = Args::read(argv.iter().map(Into::into).collect()).unwrap();
    Request::new(&args, &machine, host)
}

pub(super) fn request(args: &[&str]) -> Result<Request, Vec<String>> {
    on(&mut Host::default(), args)
}

fn errors(args: &[&str]) -> Vec<String> {
    request(args).unwrap_err()
}

#[test]
fn all_errors_are_reported_together() {
    assert_eq!(
        errors(&[
            "--pool-pages-min=3MB:1",
            "--set-shm-group=x",
            "--create-mounts",
            "--thp-size=64kB:always",
            "--create-user-mounts=x",
        ]),
        [
            "--thp-size 64kB:always: this kernel has no multi-size THP (Linux 6.8)",
            "--pool-pages-min 3MB:1: this machine has no huge pages of 3MB, only of 2MB, 1GB",
            "--set-shm-group x: no such group",
            "--create-user-mounts x: no such user",
        ]
    );
}

#[test]
fn group_names_become_ids() {
    let request = request(&["--set-shm-group", "postgres"]).unwrap();
    assert_eq!(request.shm_group.unwrap().gid, 108);
}

#[test]
fn a_failed_lookup_is_not_a_missing_group() {
    assert_eq!(
        errors(&["--set-shm-group", "broken"]),
        ["--set-shm-group broken: cannot read the group database: no answer"]
    );
}

#[test]
fn mounts_have_a_fixed_order_and_account_names() {
    let request = request(&[
        "--create-global-mounts",
        "--create-group-mounts=postgres",
        "--create-user-mounts=108",
        "--create-mounts",
    ]);
    let name = || "postgres".to_owned();
    let (uid, gid) = (108, 108);
    assert_eq!(
        request.unwrap().mounts,
        [
            MountSet::Root,
            MountSet::User { name: name(), uid },
            MountSet::Group { name: name(), gid },
            MountSet::Global
        ]
    );
    assert_eq!(
        errors(&["--create-user-mounts=invalid"]),
        ["--create-user-mounts invalid: \"invalid\" cannot be the name of a directory"]
    );
}

#[test]
fn limits_of_mounts_are_rounded_to_whole_pages() {
    let limits = |args: &[&str]| {
        request(&[args, &["--create-mounts"]].concat())
            .map(|found| (found.mount_limits, found.notes))
    };
    let (found, notes) = limits(&["--max-size=65M", "--min-size=4M", "--max-inodes=0"]).unwrap();
    assert_eq!(found.max_size, Some(MountSize::Bytes(Bytes::new(65 << 20))));
    assert_eq!(found.max_inodes, Some(0));
    assert_eq!(
        notes,
        [
            "--max-size 65MB: rounded down to 32 pages for the mount of 2MB",
            "--max-size 65MB: less than one page of 1GB, so no mount of 1GB is created",
        ]
    );
    let (_, notes) = limits(&["--min-size=4M"]).unwrap();
    assert_eq!(
        notes,
        ["--min-size 4MB: less than one page of 1GB, so nothing is reserved for the mount of 1GB"]
    );
    for (args, error) in [
        (
            ["--max-size=1M"].as_slice(),
            "--max-size 1MB: less than one page of any size",
        ),
        (
            &["--max-size=4M", "--min-size=6M"],
            "--min-size 6MB: more than --max-size 4MB",
        ),
        (
            &["--max-size=20%", "--min-size=30%"],
            "--min-size 30%: more than --max-size 20%",
        ),
        (
            // The pool has 74 pages.
            &["--max-size=1%"],
            "--max-size 1%: less than one page of any size",
        ),
    ] {
        assert_eq!(limits(args).unwrap_err(), [error]);
    }
}

/// The pool of 2 MB has 74 pages, that of 1 GB none. The size of a pool that changes in
/// this run is unknown.
#[test]
fn percentages_of_changing_pools_are_not_checked() {
    let size = |text: &str| text.parse::<PageSize>().unwrap();
    let skipped = |args: &[&str]| {
        let found = request(&[args, &["--create-mounts", "--max-size=50%"]].concat()).unwrap();
        let machine = machine();
        let pools = machine
            .pools
            .iter()
            .filter(|pool| found.holds_nothing(pool));
        let sizes = pools.map(|pool| pool.size).collect::<Vec<_>>();
        assert_eq!(found.mount_limits.max_size, Some(MountSize::Percent(50)));
        (sizes, found.notes)
    };
    let note = "--max-size 50%: less than one page of 1GB, so no mount of 1GB is created";
    assert_eq!(skipped(&[]), (vec![size("1G")], vec![note.to_owned()]));
    assert_eq!(skipped(&["--pool-pages-min=1G:2"]), (vec![], vec![]));
}

#[test]
fn differences_apply_to_the_present_value() {
    let pages = PageCount::new;
    assert_eq!(Change::To(pages(7)).of(pages(3)), pages(7));
    assert_eq!(Change::Up(pages(7)).of(pages(3)), pages(10));
    assert_eq!(Change::Down(pages(7)).of(pages(3)), PageCount::ZERO);
}

#[test]
fn options_without_effect_give_notes() {
    let notes = |args: &[&str]| request(args).unwrap().notes;
    assert_eq!(
        notes(&[
            "--thp-never",
            "--hard",
            "--persist",
            "--max-inodes=3",
            "--obey-mempolicy"
        ]),
        [
            "--hard has no effect without --pool-pages-min or --pool-spread",
            "--persist has no effect without --add-temp-swap or --add-ramdisk-swap",
            "--obey-mempolicy has no effect without a change of a whole pool",
            "a limit or mode for new mounts has no effect without an option that creates mounts",
        ]
    );
    assert_eq!(
        notes(&[
            "--pool-spread=2MB:8",
            "--hard",
            "--add-temp-swap",
            "--persist"
        ]),
        [""; 0]
    );
}

#[test]
fn unmount_lists_inner_directories_first() {
    let base = |path: &str| PathBuf::from(format!("/var/lib/hugetlbfs{path}"));
    let there = [
        "",
        "/global",
        "/global/pagesize-2MB",
        "/user",
        "/user/a",
        "/user/a/pagesize-2MB",
        "/mine",
        "/pagesize-2MB",
        "/swap",
        "/swap/temp",
    ];
    let mut host = Host {
        directories: there.iter().map(|path| base(path)).collect(),
        ..Host::default()
    };
    let unmount = on(&mut host, &["--unmount"]).unwrap().unmount.unwrap();
    assert_eq!(unmount.points, [base("/global/pagesize-2MB")]);
    let inside_out = [
        "/user/a/pagesize-2MB",
        "/user/a",
        "/user",
        "/global/pagesize-2MB",
        "/global",
        "/pagesize-2MB",
        "/swap/temp",
        "/swap",
        "",
    ];
    assert_eq!(unmount.directories, inside_out.map(base));
}

#[test]
fn cleanup_covers_the_note_and_temporary_swap() {
    let swap = |path: &str| PathBuf::from(format!("{SWAP_DIR}/{path}"));
    let mut host = Host {
        directories: BTreeSet::from([swap("temp/swapfile"), swap("swapfile-1")]),
        unfinished: Unfinished {
            swaps: BTreeSet::from([PathBuf::from("/dev/ram0")]),
            ..Unfinished::default()
        },
    };
    let request = on(&mut host, &["--thp-never"]).unwrap();
    assert_eq!(
        request.unfinished.swaps,
        BTreeSet::from([PathBuf::from("/dev/ram0"), PathBuf::from(TEMP_SWAP)])
    );
    assert!(
        request
            .growth
            .swap_files
            .contains(&OsString::from("swapfile-1"))
    );
}
