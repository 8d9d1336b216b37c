//! `--explain` as text. Scripts for libhugetlbfs parse `Total System Memory:`,
//! `A /proc/sys/kernel/shmmax value of`, `  kernel.shmmax =` and `  vm.hugetlb_shm_group =`.

use std::fmt::Write;

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageSize};

use crate::advice::{Fact, Finding};
use crate::listing::{MountRow, PoolRow, mount_list, pool_list, size_lines};
use crate::recommend::{self, SHMMAX_AT_BOOT};

/// Returns the text. The sizes in `usable` have a pool and a mount.
pub fn explain(
    machine: &Machine,
    usable: &[PageSize],
    findings: &[Finding],
    facts: &[Fact],
) -> String {
    let mounts: Vec<MountRow> = machine.mounts.iter().map(Into::into).collect();
    let pools: Vec<PoolRow> = machine.pools.iter().map(Into::into).collect();
    let mut text = match machine.meminfo.total.get() >> 20 {
        0 => "Total System Memory: not known\n\n".to_owned(),
        megabytes => format!("Total System Memory: {megabytes} MB\n\n"),
    };
    text += &match mounts.is_empty() {
        true => "No hugetlbfs is mounted.\n".to_owned(),
        false => mount_list(&mounts),
    };
    let _ = write!(text, "\nHuge page pools:\n{}", pool_list(&pools));
    let _ = write!(
        text,
        "\nHuge page sizes with a pool and a mount:\n{}",
        match usable.is_empty() {
            true => "none\n".to_owned(),
            false => size_lines(usable),
        }
    );
    append_shm_limits(machine, &mut text);
    text += match findings.len() {
        0 => "\nNo problems found.\n",
        1 => "\n1 finding:\n",
        _ => "\nFindings:\n",
    };
    for (number, finding) in (1..).zip(findings) {
        let Finding {
            fact,
            consequence,
            command,
            ..
        } = finding;
        let _ = write!(
            text,
            "\n{number}. {fact}\n   {consequence}\n   -> {command}\n"
        );
    }
    if !facts.is_empty() {
        text += "\nGood to know:\n";
    }
    for Fact {
        fact, consequence, ..
    } in facts
    {
        let _ = write!(text, "\n* {fact}\n  {consequence}\n");
    }
    text
}

/// Appends the limits of shared memory, with lines for `/etc/sysctl.d` unless they are defaults.
fn append_shm_limits(machine: &Machine, text: &mut String) {
    if let Some(now) = machine.sysctl.shmmax {
        let needed = recommend::shmmax(machine, Pool::maximum);
        let _ = write!(
            text,
            "\nA /proc/sys/kernel/shmmax value of {now} bytes limits a shared memory segment.\n\
             All pools at their maximum hold {needed} bytes.\n"
        );
        let wanted = now.max(needed);
        if wanted != SHMMAX_AT_BOOT {
            let _ = write!(
                text,
                "To keep the limit across reboots, put this line into a file in /etc/sysctl.d:\n  \
                 kernel.shmmax = {wanted}\n"
            );
        }
    }
    if let Some(group) = machine.sysctl.hugetlb_shm_group.filter(|group| *group != 0) {
        let _ = write!(
            text,
            "\nGroup {group} may create shared memory of huge pages. To keep this across reboots, put\n\
             this line into a file in /etc/sysctl.d:\n  \
             vm.hugetlb_shm_group = {group}\n"
        );
    }
}
