//! Temporary swap while a pool grows: tasks before and after.

use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::memory::swap::RamDisk;
use hugetools_model::{Bytes, Machine, PageSize};

use super::Task;
use super::mounts::BASE_OWNER;
use crate::args::Pools;
use crate::request::MOUNTS_DIR;
use crate::step::{MakeDir, Owner, SWAP_DIR, Step, Swap, TEMP_SWAP, swap_file};

const SWAP_OWNER: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o750,
};

/// Tasks to run before and after a pool grows.
type TasksAround = (Vec<Task>, Vec<Task>);

/// Returns the tasks around the growth of a pool. `number` numbers the next permanent swap file.
pub(super) fn around(
    machine: &Machine,
    growth: &Pools,
    pool: &Pool,
    number: &mut u64,
) -> TasksAround {
    let mut around = (Vec::new(), Vec::new());
    if let Some(pages @ 1..) = growth.add_temp_swap {
        add_temp_swap(&mut around, pages, growth, pool.size, number);
    }
    if growth.add_ramdisk_swap {
        add_ram_disks(&mut around, machine, growth, pool.size);
    }
    around
}

fn add_temp_swap(
    around: &mut TasksAround,
    pages: u64,
    growth: &Pools,
    size: PageSize,
    number: &mut u64,
) {
    let option = format!("--add-temp-swap={pages}");
    let path = match growth.persist {
        false => PathBuf::from(TEMP_SWAP),
        true => swap_file(*number),
    };
    *number += 1;
    let steps = vec![
        directory(Path::new(MOUNTS_DIR), BASE_OWNER),
        directory(path.parent().unwrap_or(Path::new(SWAP_DIR)), SWAP_OWNER),
    ];
    let size = Some(Bytes::new(size.get().saturating_mul(pages)));
    add_swap(around, &option, steps, Swap { path, size }, growth.persist);
}

fn directory(path: &Path, owner: Owner) -> Step {
    Step::MakeDir(MakeDir {
        path: path.to_owned(),
        owner,
        parents: true,
    })
}

fn add_ram_disks(around: &mut TasksAround, machine: &Machine, growth: &Pools, size: PageSize) {
    let option = "--add-ramdisk-swap";
    let disks = ram_disks(machine, size);
    if disks.is_empty() {
        around.0.push(Task::new(option, vec![no_ram_disk(option)]));
    }
    for disk in disks {
        let swap = Swap {
            path: disk.path.clone(),
            size: None,
        };
        add_swap(around, option, Vec::new(), swap, growth.persist);
    }
}

/// Adds a task that enables swap, and one that removes it unless it stays.
fn add_swap(around: &mut TasksAround, option: &str, mut steps: Vec<Step>, swap: Swap, stays: bool) {
    steps.push(Step::SwapOn(swap.clone()));
    around.0.push(Task::new(option, steps));
    if !stays {
        let remove = Task {
            always: true,
            ..Task::new(option, vec![Step::SwapOff(swap)])
        };
        around.1.insert(0, remove);
    }
}

/// Returns enough RAM disks for more than one huge page, or all of them. Omits those that are swap
/// already: they would be removed from swap at the end.
fn ram_disks(machine: &Machine, size: PageSize) -> Vec<&RamDisk> {
    let is_unused = |disk: &&RamDisk| machine.swaps.iter().all(|swap| swap.path != disk.path);
    let mut disks: Vec<&RamDisk> = machine.ram_disks.iter().filter(is_unused).collect();
    let one = disks.first().map_or(0, |disk| disk.size.get());
    let wanted = size.get().checked_div(one).map_or(0, |disks| disks + 1);
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    disks.truncate(wanted);
    disks
}

fn no_ram_disk(option: &str) -> Step {
    Step::impossible(
        option,
        "this machine has no unused RAM disk",
        "modprobe brd creates some; --add-temp-swap uses a file",
    )
}
