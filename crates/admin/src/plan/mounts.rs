//! `--create-mounts`, `--create-global-mounts`: one mount for each page size,
//! the default one first.

use std::path::PathBuf;

use hugetools_model::mount::mounted_at;
use hugetools_model::pool::Pool;
use hugetools_model::{Machine, PageSize};

use super::{Impossible, MakeDir, Mount, Own, Owner, Step, Task};
use crate::request::MountSet;

const BASE: &str = "/var/lib/hugetlbfs";

/// The directories above the mounts are everybody's to walk through.
const BASE_OWNER: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o755,
};

impl MountSet {
    fn option(self) -> &'static str {
        match self {
            MountSet::Root => "--create-mounts",
            MountSet::Global => "--create-global-mounts",
        }
    }

    fn base(self) -> PathBuf {
        match self {
            MountSet::Root => PathBuf::from(BASE),
            MountSet::Global => PathBuf::from(BASE).join("global"),
        }
    }

    fn owner(self) -> Owner {
        let mode = match self {
            MountSet::Root => 0o770,
            MountSet::Global => 0o1777,
        };
        Owner {
            uid: 0,
            gid: 0,
            mode,
        }
    }
}

pub(super) fn plan(machine: &Machine, set: MountSet) -> Task {
    let mut pools: Vec<&Pool> = machine.pools.iter().collect();
    pools.sort_by_key(|pool| !pool.default);
    let mut steps = Vec::new();
    for pool in pools {
        steps.extend(mount(machine, set, pool.size));
    }
    if steps.iter().any(|step| matches!(step, Step::MakeDir(_))) {
        steps.insert(
            0,
            Step::MakeDir(MakeDir {
                path: set.base(),
                owner: BASE_OWNER,
                parents: true,
            }),
        );
    }
    if steps.is_empty() {
        steps.push(Step::Impossible(Impossible {
            subject: set.option().to_owned(),
            why: "this machine offers no huge page size".to_owned(),
            hint: "the kernel or the processor has none: see /proc/meminfo for Hugepagesize"
                .to_owned(),
        }));
    }
    Task {
        option: set.option().to_owned(),
        steps,
    }
}

fn mount(machine: &Machine, set: MountSet, size: PageSize) -> Vec<Step> {
    let point = set.base().join(format!("pagesize-{size}"));
    let owner = set.owner();
    let Some(found) = mounted_at(&machine.mounts, &point) else {
        return vec![
            Step::MakeDir(MakeDir {
                path: point.clone(),
                owner,
                parents: false,
            }),
            Step::Mount(Mount { point, size, owner }),
        ];
    };
    match found.page_size() {
        Some(other) if other != size => vec![Step::Impossible(Impossible {
            subject: point.display().to_string(),
            why: format!("a hugetlbfs with pages of {other} is mounted there"),
            hint: format!("umount {} and run this again", point.display()),
        })],
        _ => vec![Step::Own(Own { point, owner })],
    }
}
