//! `--create-mounts` and related options: one mount per page size, the default size first.
//! `--unmount` removes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::machine::NONE_OFFERED;
use hugetools_model::mount::{self, mounted_at};
use hugetools_model::units::size::Quantity;
use hugetools_model::{Bytes, Machine, PageSize};

use super::Task;
use super::shell::quote_text;
use crate::args::Mounts;
use crate::request::{MOUNTS_DIR, MountSet, NewMounts, Request};
use crate::step::{MakeDir, Mount, Owner, SetOwner, Step};

/// Owner of directories above the sets of mounts: everybody may search them.
pub(super) const BASE_OWNER: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o755,
};

impl MountSet {
    /// Returns the directory for sets of this kind, and the set's own subdirectory, if any.
    fn directories(&self) -> (PathBuf, Option<PathBuf>) {
        let base = PathBuf::from(MOUNTS_DIR);
        let (kind, name) = match self {
            MountSet::Root => return (base, None),
            MountSet::Global => return (base.join("global"), None),
            MountSet::User { name, .. } => ("user", name),
            MountSet::Group { name, .. } => ("group", name),
        };
        (base.join(kind), Some(base.join(kind).join(name)))
    }

    fn owner(&self, limits: &Mounts) -> Owner {
        let (uid, gid, mode) = match self {
            MountSet::Root => (0, 0, 0o770),
            MountSet::User { uid, .. } => (*uid, 0, 0o700),
            MountSet::Group { gid, .. } => (0, *gid, 0o070),
            MountSet::Global => (0, 0, 0o1777),
        };
        Owner {
            uid,
            gid,
            mode: limits.mount_mode.unwrap_or(mode),
        }
    }
}

/// Plans one set of mounts. `mounts` are the existing mounts that stay.
pub(super) fn plan(machine: &Machine, mounts: &[mount::Mount], new: &NewMounts) -> Task {
    let NewMounts {
        option,
        set,
        limits,
    } = new;
    let (base, own) = set.directories();
    let owner = set.owner(limits);
    let mut pools: Vec<&Pool> = machine.pools.iter().collect();
    pools.sort_by_key(|pool| !pool.default);
    let mut steps = Vec::new();
    for pool in pools
        .into_iter()
        .filter(|pool| limits.selects(pool) && !limits.is_below_one_page(pool))
    {
        let dir = own.as_ref().unwrap_or(&base);
        let point = dir.join(format!("pagesize-{}", pool.size));
        steps.extend(mount(mounts, point, pool.size, owner, limits));
    }
    if steps.is_empty() {
        steps.push(Step::impossible(
            option,
            NONE_OFFERED,
            "the kernel or the processor doesn't support them: see Hugepagesize in /proc/meminfo",
        ));
    }
    // An option that fails before any mount needs no directory.
    if matches!(steps.first(), Some(Step::Impossible(_))) {
        return Task::new(option, steps);
    }
    let mut above = Vec::new();
    if steps.iter().any(|step| matches!(step, Step::MakeDir(_))) {
        above.push(directory(base, BASE_OWNER, true));
    }
    // All mounts of the set are below this directory, so its owner and mode are checked even if
    // everything is mounted.
    if let Some(own) = own {
        above.push(directory(own.clone(), owner, false));
        above.push(Step::SetOwner(SetOwner { point: own, owner }));
    }
    above.append(&mut steps);
    Task::new(option, above)
}

fn directory(path: PathBuf, owner: Owner, parents: bool) -> Step {
    Step::MakeDir(MakeDir {
        path,
        owner,
        parents,
    })
}

fn mount(
    mounts: &[mount::Mount],
    point: PathBuf,
    size: PageSize,
    owner: Owner,
    limits: &Mounts,
) -> Vec<Step> {
    let Some(found) = mounted_at(mounts, &point) else {
        let mount = Mount {
            point: point.clone(),
            size,
            owner,
            max_size: limits.max_size.filter(|size| *size > Bytes::ZERO),
            max_inodes: limits.max_inodes.filter(|inodes| *inodes > 0),
        };
        return vec![directory(point, owner, false), Step::Mount(mount)];
    };
    let why = match found.page_size() {
        Some(other) if other != size => Some(format!(
            "a hugetlbfs with pages of {other} is mounted there"
        )),
        _ => limit_difference(found, limits, size),
    };
    match why {
        None => vec![Step::SetOwner(SetOwner { point, owner })],
        Some(why) => {
            let shown = point.display().to_string();
            let hint = format!("umount {} and run this again", quote_text(&shown));
            vec![Step::impossible(shown, why, hint)]
        }
    }
}

/// Describes the first limit in which an existing mount differs. Limits cannot be changed
/// without unmounting.
fn limit_difference(found: &mount::Mount, limits: &Mounts, size: PageSize) -> Option<String> {
    // `size=0` is a mount without any space.
    let has = |name: &str| -> Option<u64> {
        let quantity: Quantity = found.option(name)?.parse().ok()?;
        quantity.bytes().ok().map(Bytes::get)
    };
    let whole = |limit: Bytes| limit.get() - limit.pages(size).1.get();
    let asked = [
        ("size", limits.max_size.map(whole)),
        ("nr_inodes", limits.max_inodes),
    ];
    // 0 requests no limit.
    let wanted = |asked: u64| Some(asked).filter(|asked| *asked > 0);
    let (name, asked) = asked
        .into_iter()
        .filter_map(|(name, asked)| Some((name, wanted(asked?))))
        .find(|(name, asked)| has(name) != *asked)?;
    let limit = |limit: Option<u64>| match limit {
        Some(limit) => format!("{name}={limit}"),
        None => format!("{name} unset"),
    };
    Some(format!(
        "the hugetlbfs mounted there has {}, not {}",
        limit(has(name)),
        limit(asked)
    ))
}

/// Plans `--unmount`: a task per mount, so that a mount in use doesn't prevent the others,
/// and one that removes their directories, inner ones first.
pub(super) fn unmount(request: &Request) -> Vec<Task> {
    let points = &request.unmount;
    let option = if request.growth.clear {
        "--clear"
    } else {
        "--unmount"
    };
    let mut tasks: Vec<Task> = points
        .iter()
        .map(|point| Task::new(option, vec![Step::Unmount(point.clone())]))
        .collect();
    let above = points.iter().flat_map(|point| point.ancestors());
    let dirs: BTreeSet<&Path> = above.filter(|dir| dir.starts_with(MOUNTS_DIR)).collect();
    let dirs: Vec<Step> = (dirs.into_iter().rev())
        .map(|dir| Step::RemoveDir(dir.to_owned()))
        .collect();
    if !dirs.is_empty() {
        tasks.push(Task::new(option, dirs));
    }
    tasks
}
