//! `--create-mounts` and related options, and `--unmount`.

use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Bytes, Machine, PageSize};

use super::{MountSet, NewMounts, Request, shown};
use crate::args::Mounts;
use crate::effects::{Account, Effects};

/// Directory of the mounts that `--create-mounts` and related options make.
pub(crate) const MOUNTS_DIR: &str = "/var/lib/hugetlbfs";

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

/// Notes mounts that aren't made or get a lower limit. Returns an error if no mount is left.
fn check_limits(limits: &Mounts, machine: &Machine, request: &mut Request) -> Option<String> {
    let size = limits.max_size.filter(|size| *size > Bytes::ZERO)?;
    let pools = || machine.pools.iter().filter(|pool| limits.selects(pool));
    if pools().next().is_some() && pools().all(|pool| limits.is_below_one_page(pool)) {
        return Some(format!(
            "--max-size {size}: less than one page of each size"
        ));
    }
    let notes = pools().filter_map(|pool| rounding_note(size, pool.size));
    request.notes.extend(notes);
    None
}

impl Mounts {
    /// Whether to mount pages of this size.
    pub(crate) fn selects(&self, pool: &Pool) -> bool {
        self.only.is_none_or(|size| size == pool.size)
    }

    /// Whether `--max-size` is less than one page of the pool: a mount could hold no file.
    pub(crate) fn is_below_one_page(&self, pool: &Pool) -> bool {
        let size = self.max_size.unwrap_or_default();
        size > Bytes::ZERO && size.get() < pool.size.get()
    }
}

/// Returns a note about a limit that is not a whole number of pages.
fn rounding_note(size: Bytes, pages: PageSize) -> Option<String> {
    let (whole, rest) = size.pages(pages);
    match (whole.get(), rest.get()) {
        (0, _) => Some(format!(
            "--max-size {size}: less than one page of {pages}, so no mount for {pages} pages is created"
        )),
        (_, 0) => None,
        _ => {
            let whole = whole.with_noun();
            Some(format!(
                "--max-size {size}: rounded down to {whole} for the mount of {pages} pages"
            ))
        }
    }
}

/// Returns the mount points that the create options would use, the latest mount first.
pub(super) fn own_mounts(machine: &Machine) -> Vec<PathBuf> {
    let points = machine.mounts.iter().rev().map(|mount| &mount.point);
    points
        .filter(|point| is_own_mount_point(point))
        .cloned()
        .collect()
}

/// Whether a path is a mount point of the create options: `pagesize-SIZE` in the base
/// directory, in `global`, or in a directory of a user or group.
fn is_own_mount_point(path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(MOUNTS_DIR) else {
        return false;
    };
    let names: Vec<&str> = below.iter().filter_map(|name| name.to_str()).collect();
    let point = |name: &str| name.starts_with("pagesize-");
    match names.as_slice() {
        [name] | ["global", name] | ["user" | "group", _, name] => point(name),
        _ => false,
    }
}
