//! `--create-mounts` and its relatives: one mount for each page size, the
//! default one first. `--unmount`: the other way round.

use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::mount::mounted_at;
use hugetools_model::units::size::Quantity;
use hugetools_model::{Bytes, Machine, PageSize};

use super::Task;
use crate::request::{BASE, MountLimits, MountSet, Request, Unmount};
use crate::step::{Impossible, MakeDir, Mount, Own, Owner, Step};

/// The directories above the mounts are everybody's to walk through.
pub(super) const BASE_OWNER: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o755,
};

impl MountSet {
    fn option(&self) -> String {
        match self {
            MountSet::Root => "--create-mounts".to_owned(),
            MountSet::User { name, .. } => format!("--create-user-mounts {name}"),
            MountSet::Group { name, .. } => format!("--create-group-mounts {name}"),
            MountSet::Global => "--create-global-mounts".to_owned(),
        }
    }

    /// The directory of all sets of this kind, and the one of this set in it,
    /// if it has its own.
    fn places(&self) -> (PathBuf, Option<PathBuf>) {
        let base = PathBuf::from(BASE);
        let (kind, name) = match self {
            MountSet::Root => return (base, None),
            MountSet::Global => return (base.join("global"), None),
            MountSet::User { name, .. } => ("user", name),
            MountSet::Group { name, .. } => ("group", name),
        };
        (base.join(kind), Some(base.join(kind).join(name)))
    }

    /// Where its mounts are.
    pub(crate) fn points(&self, machine: &Machine) -> Vec<PathBuf> {
        let (base, own) = self.places();
        let dir = own.unwrap_or(base);
        let point = |pool: &Pool| point(&dir, pool.size);
        machine.pools.iter().map(point).collect()
    }

    fn owner(&self, limits: &MountLimits) -> Owner {
        let (uid, gid, mode) = match self {
            MountSet::Root => (0, 0, 0o770),
            MountSet::User { uid, .. } => (*uid, 0, 0o700),
            MountSet::Group { gid, .. } => (0, *gid, 0o070),
            MountSet::Global => (0, 0, 0o1777),
        };
        Owner {
            uid,
            gid,
            mode: limits.mode.unwrap_or(mode),
        }
    }
}

pub(super) fn plan(machine: &Machine, set: &MountSet, request: &Request) -> Task {
    let limits = &request.mount_limits;
    let (base, own) = set.places();
    let owner = set.owner(limits);
    let mut pools: Vec<&Pool> = machine.pools.iter().collect();
    pools.sort_by_key(|pool| !pool.default);
    let mut steps = Vec::new();
    for pool in pools {
        let dir = own.as_ref().unwrap_or(&base);
        let point = point(dir, pool.size);
        steps.extend(mount(machine, point, pool.size, owner, limits));
    }
    if steps.is_empty() {
        steps.push(Step::Impossible(Impossible {
            subject: set.option(),
            why: machine.none_offered(),
            hint: match machine.unseen {
                Some(_) => "mount -t proc proc /proc; mount -t sysfs sysfs /sys",
                None => "the kernel or the processor has none: see /proc/meminfo for Hugepagesize",
            }
            .to_owned(),
        }));
        return Task::new(set.option(), steps);
    }
    let mut above = Vec::new();
    if steps.iter().any(|step| matches!(step, Step::MakeDir(_))) {
        above.push(directory(base, BASE_OWNER, true));
    }
    // Nobody but its owner gets through it to the mounts, so it is looked at
    // even when all is mounted.
    above.extend(own.map(|own| {
        Step::MakeDir(MakeDir {
            path: own,
            owner,
            parents: false,
            mend: true,
        })
    }));
    above.append(&mut steps);
    Task::new(set.option(), above)
}

fn point(dir: &Path, size: PageSize) -> PathBuf {
    dir.join(format!("pagesize-{size}"))
}

fn directory(path: PathBuf, owner: Owner, parents: bool) -> Step {
    Step::MakeDir(MakeDir {
        path,
        owner,
        parents,
        mend: false,
    })
}

fn mount(
    machine: &Machine,
    point: PathBuf,
    size: PageSize,
    owner: Owner,
    limits: &MountLimits,
) -> Vec<Step> {
    let mount = Mount {
        point: point.clone(),
        size,
        owner,
        max_size: limits.max_size,
        min_size: limits.min_size,
        max_inodes: limits.max_inodes,
    };
    let Some(found) = mounted_at(&machine.mounts, &point) else {
        return vec![directory(point, owner, false), Step::Mount(mount)];
    };
    let why = match found.page_size() {
        Some(other) if other != size => Some(format!(
            "a hugetlbfs with pages of {other} is mounted there"
        )),
        _ => other_limits(found, &mount),
    };
    match why {
        None => vec![Step::Own(Own { point, owner })],
        Some(why) => {
            let shown = point.display().to_string();
            vec![Step::Impossible(Impossible {
                hint: format!("umount {shown} and run this again"),
                subject: shown,
                why,
            })]
        }
    }
}

/// A limit that was asked for and that the mount there has not; it cannot be
/// changed without unmounting.
fn other_limits(found: &hugetools_model::mount::Mount, mount: &Mount) -> Option<String> {
    let whole = |bytes: Bytes| {
        let pages = bytes.pages(mount.size).0;
        mount.size.of(pages).map_or(0, Bytes::get)
    };
    let has = |name: &str| -> Option<u64> {
        let quantity: Quantity = found.option(name)?.parse().ok()?;
        quantity.bytes().ok().map(Bytes::get)
    };
    let asked = [
        ("size", mount.max_size.map(whole)),
        (
            "min_size",
            mount.min_size.map(whole).filter(|size| *size > 0),
        ),
        ("nr_inodes", mount.max_inodes),
    ];
    let differs = |(name, asked): &(&str, Option<u64>)| asked.is_some() && has(name) != *asked;
    let (name, asked) = asked.into_iter().find(differs)?;
    let asked = asked.unwrap_or_default();
    Some(match has(name) {
        None => format!("a hugetlbfs without {name}={asked} is mounted there"),
        Some(has) => format!("a hugetlbfs with {name}={has} is mounted there, not {asked}"),
    })
}

/// A mount that is in use keeps no other from going.
pub(super) fn unmount(unmount: &Unmount) -> Vec<Task> {
    let points = unmount.points.iter().cloned().map(Step::Unmount);
    let mut tasks: Vec<Task> = points
        .map(|step| Task::new("--unmount", vec![step]))
        .collect();
    let directories = unmount.directories.iter().cloned().map(Step::RemoveDir);
    tasks.push(Task::new("--unmount", directories.collect()));
    tasks
}
