//! Temporary swap while a pool grows: tasks before and after.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::memory::swap::RamDisk;
use hugetools_model::{Bytes, Machine, PageSize};

use super::{Task, When};
use crate::request::Growth;
use crate::step::{Impossible, MakeDir, Owner, SWAP_DIR, Step, Swap, TEMP_SWAP};

/// Swap that `--hard` adds by itself (huge pages).
const HARD_SWAP_PAGES: u64 = 5;

/// Owner and mode of the directories of swap files.
const SWAP_OWNER: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o750,
};

/// Tasks before and after a pool grows.
type Around = (Vec<Task>, Vec<Task>);

/// Returns the tasks before and after a pool grows.
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

/// Adds a task that enables swap, and one that removes it unless it stays.
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

/// Returns the swap that `--hard` adds as a last resort, unless swap options are given.
pub(super) fn last_resort(growth: &Growth, size: PageSize) -> Option<Swap> {
    let others = growth.temp_swap.is_some() || growth.ramdisk_swap;
    let bytes = size.get().checked_mul(HARD_SWAP_PAGES)?;
    (growth.hard && !others).then(|| file(PathBuf::from(TEMP_SWAP), bytes, false))
}

fn file(path: PathBuf, bytes: u64, stays: bool) -> Swap {
    Swap {
        path,
        size: Some(Bytes::new(bytes)),
        stays,
    }
}

/// Returns the lowest unused `swapfile-N`.
fn unused(growth: &Growth, taken: &mut Vec<OsString>) -> PathBuf {
    let names = (1u64..).map(|n| OsString::from(format!("swapfile-{n}")));
    let mut free = names.filter(|name| !growth.swap_files.contains(name) && !taken.contains(name));
    let name = free.next().unwrap_or_default();
    taken.push(name.clone());
    Path::new(SWAP_DIR).join(name)
}

/// Steps that create the directories of a swap file. Everybody may search those above
/// it, because they contain mounts too.
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
            repair: false,
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

/// Returns as many RAM disks as hold more than one huge page, or all if that is not
/// enough.
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
        hint: "modprobe brd creates some; --add-temp-swap uses a file".to_owned(),
    })
}

fn too_large(option: &str, size: PageSize) -> Step {
    Step::Impossible(Impossible {
        subject: option.to_owned(),
        why: format!("too many pages of {size}: the size in bytes exceeds 64 bits"),
        hint: "ask for fewer pages".to_owned(),
    })
}
