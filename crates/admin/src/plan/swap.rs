//! Swap for the time that a pool grows, before and after its task.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::memory::swap::RamDisk;
use hugetools_model::{Bytes, Machine, PageSize};

use super::{Task, When};
use crate::request::Growth;
use crate::step::{Impossible, MakeDir, Owner, SWAP_DIR, Step, Swap, TEMP_SWAP};

/// What `--hard` adds by itself, in huge pages.
const PAGES: u64 = 5;

/// Whose the directories of swap files are.
const SWAP_OWNER: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o750,
};

/// Tasks before a pool grows, and tasks after it.
type Around = (Vec<Task>, Vec<Task>);

/// The tasks before a pool grows and those after it.
pub(super) fn around(
    machine: &Machine,
    growth: &Growth,
    pool: &Pool,
    taken: &mut Vec<OsString>,
) -> Around {
    let mut around = (Vec::new(), Vec::new());
    if let Some(pages @ 1..) = growth.temp_swap {
        temporary(&mut around, pages, growth, pool.size, taken);
    }
    if growth.ramdisk_swap {
        disks(&mut around, &machine.ram_disks, growth, pool.size);
    }
    if let Some(swap) = last_resort(growth, pool.size) {
        around.1.push(remove("--hard", swap));
    }
    around
}

fn temporary(
    around: &mut Around,
    pages: u64,
    growth: &Growth,
    size: PageSize,
    taken: &mut Vec<OsString>,
) {
    let option = format!("--add-temp-swap={pages}");
    let Some(bytes) = size.get().checked_mul(pages) else {
        let steps = vec![too_large(&option, size)];
        return around.0.push(Task::new(option, steps));
    };
    let path = match growth.persist {
        false => PathBuf::from(TEMP_SWAP),
        true => unused(growth, taken),
    };
    let steps = directories(&path);
    add(around, &option, steps, file(path, bytes, growth.persist));
}

fn disks(around: &mut Around, all: &[RamDisk], growth: &Growth, size: PageSize) {
    let option = "--add-ramdisk-swap";
    let disks = ram_disks(all, size);
    if disks.is_empty() {
        around.0.push(Task::new(option, vec![no_ram_disk(option)]));
    }
    for disk in disks {
        let swap = Swap {
            path: disk.path.clone(),
            size: None,
            stays: growth.persist,
        };
        add(around, option, Vec::new(), swap);
    }
}

/// A task that makes swap, and one that takes it back.
fn add(around: &mut Around, option: &str, mut steps: Vec<Step>, swap: Swap) {
    steps.push(Step::SwapOn(swap.clone()));
    around.0.push(Task::new(option, steps));
    if !swap.stays {
        around.1.insert(0, remove(option, swap));
    }
}

fn remove(option: &str, swap: Swap) -> Task {
    Task {
        when: When::Always,
        ..Task::new(option, vec![Step::SwapOff(swap)])
    }
}

/// The swap that `--hard` adds when nothing else does, unless swap was added
/// or forbidden.
pub(super) fn last_resort(growth: &Growth, size: PageSize) -> Option<Swap> {
    let others = growth.temp_swap.is_some() || growth.ramdisk_swap;
    let bytes = size.get().checked_mul(PAGES)?;
    (growth.hard && !others).then(|| file(PathBuf::from(TEMP_SWAP), bytes, false))
}

fn file(path: PathBuf, bytes: u64, stays: bool) -> Swap {
    Swap {
        path,
        size: Some(Bytes::new(bytes)),
        stays,
    }
}

/// The lowest `swapfile-N` that is not there yet.
fn unused(growth: &Growth, taken: &mut Vec<OsString>) -> PathBuf {
    let names = (1u64..).map(|n| OsString::from(format!("swapfile-{n}")));
    let mut free = names.filter(|name| !growth.swap_files.contains(name) && !taken.contains(name));
    let name = free.next().unwrap_or_default();
    taken.push(name.clone());
    Path::new(SWAP_DIR).join(name)
}

/// The directories of a swap file. Those above are everybody's to walk
/// through, for mounts are in them too.
pub(crate) fn directories(file: &Path) -> Vec<Step> {
    let all: Vec<&Path> = file.ancestors().skip(1).collect();
    let own = all
        .iter()
        .take_while(|dir| dir.starts_with(SWAP_DIR))
        .count();
    let dir = |path: &Path, owner: Owner, parents: bool| {
        Step::MakeDir(MakeDir {
            path: path.to_owned(),
            owner,
            parents,
            mend: false,
        })
    };
    let mut steps: Vec<Step> = all[..own]
        .iter()
        .map(|path| dir(path, SWAP_OWNER, false))
        .collect();
    if let Some(base) = all.get(own) {
        steps.push(dir(base, super::mounts::BASE_OWNER, true));
    }
    steps.reverse();
    steps
}

/// As many RAM disks as make up more than a huge page, as far as there are
/// any.
fn ram_disks(disks: &[RamDisk], size: PageSize) -> &[RamDisk] {
    let one = disks.first().map_or(0, |disk| disk.size.get());
    let wanted = size.get().checked_div(one).map_or(0, |disks| disks + 1);
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    &disks[..wanted.min(disks.len())]
}

fn no_ram_disk(option: &str) -> Step {
    Step::Impossible(Impossible {
        subject: option.to_owned(),
        why: "this machine has no RAM disk".to_owned(),
        hint: "modprobe brd makes them; --add-temp-swap uses a file".to_owned(),
    })
}

fn too_large(option: &str, size: PageSize) -> Step {
    Step::Impossible(Impossible {
        subject: option.to_owned(),
        why: format!("so many pages of {size} do not fit into 64 bits of bytes"),
        hint: "ask for less".to_owned(),
    })
}
