//! `--create-mounts` and related options, and `--unmount`.

use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageCount, PageSize};

use super::{MountSet, NewMounts, Request, shown};
use crate::args::Mounts;
use crate::effects::{Account, Effects};
use crate::step::MountSize;

/// Directory of the mounts that the create options make.
pub(crate) const BASE: &str = "/var/lib/hugetlbfs";

pub(super) fn check(
    args: &Mounts,
    machine: &Machine,
    effects: &mut dyn Effects,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    let mut add = |option: String, set| {
        let limits = args.clone();
        request.mounts.push(NewMounts {
            option,
            set,
            limits,
        });
    };
    if args.create_mounts {
        add("--create-mounts".to_owned(), MountSet::Root);
    }
    if let Some(name) = &args.create_user_mounts {
        let option = format!("--create-user-mounts {}", shown(name));
        match account("user", name, effects.user(name)) {
            Ok(Account { id: uid, name, .. }) => add(option, MountSet::User { name, uid }),
            Err(error) => errors.push(format!("{option}: {error}")),
        }
    }
    if let Some(name) = &args.create_group_mounts {
        let option = format!("--create-group-mounts {}", shown(name));
        match account("group", name, effects.group(name)) {
            Ok(Account { id: gid, name, .. }) => add(option, MountSet::Group { name, gid }),
            Err(error) => errors.push(format!("{option}: {error}")),
        }
    }
    if args.create_global_mounts {
        add("--create-global-mounts".to_owned(), MountSet::Global);
    }
    if args.creates() {
        errors.extend(check_limits(args, machine, request));
    }
}

/// Checks the result of a lookup. The name of the account becomes the name of a directory.
fn account(
    kind: &str,
    name: &str,
    found: Result<Option<Account>, String>,
) -> Result<Account, String> {
    let found = found?.ok_or_else(|| format!("no such {kind}"))?;
    match found.name.as_str() {
        "" | "." | ".." => Err(format!("{name:?} cannot be the name of a directory")),
        other if other.contains('/') => Err(format!("{name:?} cannot be the name of a directory")),
        _ => Ok(found),
    }
}

impl Request {
    /// Whether `--max-size` is less than one page, so that a mount couldn't hold any file. False
    /// for a percentage of a pool that changes in this run, because it is not yet known.
    pub(crate) fn holds_nothing(&self, limits: &Mounts, pool: &Pool) -> bool {
        let Some(size) = limits.max_size.filter(|size| !size.is_zero()) else {
            return false;
        };
        let changes = self.pool_min.iter().chain(&self.pool_max);
        let is_known = match size {
            MountSize::Bytes(_) => true,
            MountSize::Percent(_) => !changes.clone().any(|change| change.size == pool.size),
        };
        is_known && size.pages(pool.size, pool.minimum()) == PageCount::ZERO
    }
}

fn check_limits(limits: &Mounts, machine: &Machine, request: &mut Request) -> Vec<String> {
    let mut errors = Vec::new();
    for (option, size) in [
        ("--max-size", limits.max_size),
        ("--min-size", limits.min_size),
    ] {
        let Some(size) = size.filter(|size| !size.is_zero()) else {
            continue;
        };
        let pools = || machine.pools.iter().filter(|pool| limits.concerns(pool));
        let is_short = |pool: &Pool| match (option, size) {
            ("--max-size", _) => request.holds_nothing(limits, pool),
            (_, MountSize::Bytes(bytes)) => bytes.get() < pool.size.get(),
            (_, MountSize::Percent(_)) => false,
        };
        if pools().next().is_some() && pools().all(is_short) {
            errors.push(format!("{option} {size}: less than one page of each size"));
            continue;
        }
        let notes: Vec<String> = pools()
            .filter(|pool| option == "--max-size" || !request.holds_nothing(limits, pool))
            .filter_map(|pool| rounding(option, size, pool.size, is_short(pool)))
            .collect();
        request.notes.extend(notes);
    }
    errors
}

impl Mounts {
    /// Whether to mount pages of this size.
    pub(crate) fn concerns(&self, pool: &Pool) -> bool {
        self.only.is_none_or(|size| size == pool.size)
    }
}

/// Returns a note about a size that is not a whole number of pages.
fn rounding(option: &str, size: MountSize, pages: PageSize, is_short: bool) -> Option<String> {
    match (is_short, option, size) {
        (true, "--max-size", _) => Some(format!(
            "{option} {size}: less than one page of {pages}, so no mount for {pages} pages is created"
        )),
        (true, ..) => Some(format!(
            "{option} {size}: less than one page of {pages}, so the mount for {pages} pages reserves nothing"
        )),
        (false, _, MountSize::Percent(_)) => None,
        (false, _, MountSize::Bytes(bytes)) => {
            let (whole, rest) = bytes.pages(pages);
            (rest.get() > 0).then(|| {
                let whole = whole.with_noun();
                format!("{option} {size}: rounded down to {whole} for the mount of {pages} pages")
            })
        }
    }
}

/// Returns mount points that the create options would use, the latest one first.
pub(super) fn mounted(machine: &Machine) -> Vec<PathBuf> {
    let points = machine.mounts.iter().rev().map(|mount| &mount.point);
    points
        .filter(|point| is_own_mount_point(point))
        .cloned()
        .collect()
}

/// Whether a path is a mount point of the create options: `pagesize-SIZE` in the base
/// directory, in `global`, or in a directory of a user or group.
fn is_own_mount_point(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(BASE) else {
        return false;
    };
    let names: Vec<&str> = below.iter().filter_map(|name| name.to_str()).collect();
    let point = |name: &str| name.starts_with("pagesize-");
    match names.as_slice() {
        [name] | ["global", name] | ["user" | "group", _, name] => point(name),
        _ => false,
    }
}
