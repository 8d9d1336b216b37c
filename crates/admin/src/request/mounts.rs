//! `--create-mounts` and its relatives, and `--unmount`.

use std::path::{Path, PathBuf};

use hugetools_model::mount::mounted_at;
use hugetools_model::{Bytes, Machine, PageSize};

use super::{MountLimits, MountSet, Request, Unmount, shown};
use crate::args::Mounts;
use crate::effects::{Account, Effects};

/// Where everything is mounted.
pub(crate) const BASE: &str = "/var/lib/hugetlbfs";

pub(super) fn check(
    args: &Mounts,
    machine: &Machine,
    effects: &mut dyn Effects,
    request: &mut Request,
    errors: &mut Vec<String>,
) {
    if args.create_mounts {
        request.mounts.push(MountSet::Root);
    }
    if let Some(name) = &args.create_user_mounts {
        match account("user", name, effects.user(name)) {
            Ok(Account { id: uid, name, .. }) => request.mounts.push(MountSet::User { name, uid }),
            Err(error) => errors.push(format!("--create-user-mounts {}: {error}", shown(name))),
        }
    }
    if let Some(name) = &args.create_group_mounts {
        match account("group", name, effects.group(name)) {
            Ok(Account { id: gid, name, .. }) => request.mounts.push(MountSet::Group { name, gid }),
            Err(error) => errors.push(format!("--create-group-mounts {}: {error}", shown(name))),
        }
    }
    if args.create_global_mounts {
        request.mounts.push(MountSet::Global);
    }
    if args.creates() {
        errors.extend(limits(args, machine, request));
        let points = request.mounts.iter().flat_map(|set| set.points(machine));
        let hidden: Vec<String> = points
            .filter(|point| mounted_at(&machine.mounts, point).is_none())
            .filter(|point| effects.names(point).is_ok_and(|names| !names.is_empty()))
            .map(|point| {
                format!(
                    "{} is not empty: the mount hides what is in it",
                    point.display()
                )
            })
            .collect();
        request.notes.extend(hidden);
    }
    if args.unmount {
        request.unmount = Some(Unmount {
            points: mounted(machine),
            directories: directories(effects),
        });
    }
}

/// The account, whose name becomes the name of a directory.
fn account(
    kind: &str,
    name: &str,
    found: Result<Option<Account>, String>,
) -> Result<Account, String> {
    let found = found?.ok_or_else(|| format!("there is no such {kind}"))?;
    match found.name.as_str() {
        "" | "." | ".." => Err(format!("{name:?} cannot be the name of a directory")),
        other if other.contains('/') => Err(format!("{name:?} cannot be the name of a directory")),
        _ => Ok(found),
    }
}

fn limits(args: &Mounts, machine: &Machine, request: &mut Request) -> Vec<String> {
    let positive = |size: Option<Bytes>| size.filter(|size| size.get() > 0);
    let limits = MountLimits {
        max_size: positive(args.max_size),
        min_size: positive(args.min_size),
        max_inodes: args.max_inodes.filter(|inodes| *inodes > 0),
        mode: args.mount_mode,
    };
    request.mount_limits = limits;
    let mut errors = Vec::new();
    for (option, size) in [
        ("--max-size", limits.max_size),
        ("--min-size", limits.min_size),
    ] {
        let Some(size) = size else { continue };
        let sizes = machine.pools.iter().map(|pool| pool.size);
        let short = |pages: &PageSize| size.get() < pages.get();
        if !machine.pools.is_empty() && sizes.clone().all(|pages| short(&pages)) {
            errors.push(format!("{option} {size}: less than one page of any size"));
            continue;
        }
        for pages in sizes {
            request.notes.extend(rounding(option, size, pages));
        }
    }
    if let (Some(max), Some(min)) = (limits.max_size, limits.min_size) {
        if min > max {
            errors.push(format!("--min-size {min}: more than --max-size {max}"));
        }
    }
    errors
}

/// What the kernel makes of a size that is no whole number of pages.
fn rounding(option: &str, size: Bytes, pages: PageSize) -> Option<String> {
    let (whole, rest) = size.pages(pages);
    if rest.get() == 0 {
        return None;
    }
    Some(match (whole.get(), option) {
        (0, "--max-size") => format!(
            "{option} {size}: less than one page of {pages}, so the mount of {pages} can hold nothing"
        ),
        (0, _) => format!(
            "{option} {size}: less than one page of {pages}, so nothing is reserved for the mount of {pages}"
        ),
        (1, _) => format!("{option} {size}: rounded down to 1 page for the mount of {pages}"),
        (n, _) => format!("{option} {size}: rounded down to {n} pages for the mount of {pages}"),
    })
}

/// The mounts that the create options make, the last one first.
fn mounted(machine: &Machine) -> Vec<PathBuf> {
    let points = machine.mounts.iter().rev().map(|mount| &mount.point);
    points.filter(|point| is_point(point)).cloned().collect()
}

/// Whether the create options mount here: on `pagesize-SIZE` in the base
/// directory, in `global`, or in a directory of a user or group.
fn is_point(path: &Path) -> bool {
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

/// The directories that the create options and temporary swap make, as far as
/// they are there, each before the one that it is in.
fn directories(effects: &mut dyn Effects) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let base = Path::new(BASE);
    for owner in ["user", "group"] {
        let dir = base.join(owner);
        for name in below(effects, &dir) {
            found.extend(points(effects, &name));
            found.push(name);
        }
        found.push(dir);
    }
    let global = base.join("global");
    found.extend(points(effects, &global));
    found.push(global);
    found.extend(points(effects, base));
    found.extend(["swap/temp", "swap"].map(|dir| base.join(dir)));
    found.push(base.to_owned());
    let there = |path: &PathBuf| matches!(effects.look(path), Ok(Some(found)) if found.directory);
    found.into_iter().filter(there).collect()
}

fn below(effects: &mut dyn Effects, dir: &Path) -> Vec<PathBuf> {
    let names = effects.names(dir).unwrap_or_default();
    names.iter().map(|name| dir.join(name)).collect()
}

fn points(effects: &mut dyn Effects, dir: &Path) -> Vec<PathBuf> {
    let mut all = below(effects, dir);
    all.retain(|path| is_point(path));
    all
}
