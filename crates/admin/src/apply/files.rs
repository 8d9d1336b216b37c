//! Directories, mounts, swap and the files of `--install-boot`.

use std::io;
use std::path::{Path, PathBuf};

use hugetools_model::Root;
use hugetools_model::mount::{self, mounted_at};

use super::not_run;
use crate::effects::Effects;
use crate::report::{Failure, NotRun, Outcome};
use crate::step::{Install, MakeDir, Mount, SetOwner, Swap};

/// Mounts, owners, swap and commands are skipped on a recorded tree.
const SKIPPED: Outcome = Outcome::NotRun {
    why: NotRun::RecordedTree,
};

/// Makes a directory. Appends each new directory to `made`.
pub(super) fn make_dir(
    dir: &MakeDir,
    root: &Root,
    effects: &mut dyn Effects,
    made: &mut Vec<PathBuf>,
) -> Result<Outcome, Failure> {
    let action = format!("make directory {}", dir.path.display());
    let mut missing = Vec::new();
    for path in dir.path.ancestors() {
        match effects.stat(path).map_err(|e| Failure::call(&action, &e))? {
            Some(found) if found.directory => break,
            Some(_) => {
                let error = io::Error::from_raw_os_error(libc::ENOTDIR);
                return Err(Failure::call(&action, &error));
            }
            None => missing.push(path),
        }
        if !dir.parents {
            break;
        }
    }
    for path in missing.iter().rev() {
        let action = format!("make directory {}", path.display());
        let failure = |error| Failure::call(&action, &error);
        effects.make_dir(path, dir.owner.mode).map_err(failure)?;
        made.push(path.to_path_buf());
        if root.has_kernel() {
            effects.own(path, dir.owner).map_err(failure)?;
        }
    }
    match missing.is_empty() {
        false => Ok(Outcome::DONE),
        true => Ok(Outcome::Unchanged { value: None }),
    }
}

/// Removes a directory. A directory in use (by a file or a mount) stays.
pub(super) fn remove_dir(path: &Path, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let action = format!("remove directory {}", path.display());
    match effects.remove_dir(path) {
        Ok(()) => Ok(Outcome::DONE),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT) => Ok(Outcome::Unchanged { value: None }),
            Some(libc::ENOTEMPTY | libc::EEXIST | libc::EBUSY) => Ok(not_run(NotRun::InUse)),
            _ => Err(Failure::call(&action, &error)),
        },
    }
}

pub(super) fn mount(
    mount: &Mount,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    let action = format!("mount a hugetlbfs on {}", mount.point.display());
    if !root.has_kernel() {
        return Ok(SKIPPED);
    }
    let failed = |error| Failure::call(&action, &error);
    effects.mount(mount).map_err(failed)?;
    let mounts = mount::read(root)?;
    let found = mounted_at(&mounts, &mount.point);
    let size = found
        .filter(|found| found.is_hugetlbfs())
        .map(|found| found.page_size());
    let same = size.is_some_and(|size| size.is_none_or(|size| size == mount.size));
    let owner = effects.stat(&mount.point).ok().flatten();
    if same && owner.is_some_and(|found| found.owner == mount.owner) {
        return Ok(Outcome::DONE);
    }
    Err(Failure::text(format!(
        "{action}: mount(2) succeeded, but another mount is there now"
    )))
}

pub(super) fn set_owner(
    own: &SetOwner,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    let action = format!("set owner and mode of {}", own.point.display());
    if !root.has_kernel() {
        return Ok(SKIPPED);
    }
    let is_owned = |effects: &mut dyn Effects| match effects.stat(&own.point) {
        Ok(found) => Ok(found.is_some_and(|found| found.owner == own.owner)),
        Err(error) => Err(Failure::call(&action, &error)),
    };
    if is_owned(effects)? {
        return Ok(Outcome::Unchanged { value: None });
    }
    effects
        .own(&own.point, own.owner)
        .map_err(|error| Failure::call(&action, &error))?;
    match is_owned(effects)? {
        true => Ok(Outcome::DONE),
        false => Err(Failure::text(format!(
            "cannot {action}: reading back gives other values"
        ))),
    }
}

/// Unmounts the topmost mount of a directory.
pub(super) fn unmount(
    point: &Path,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    let action = format!("unmount {}", point.display());
    let count = || -> Result<usize, Failure> {
        let mounts = mount::read(root)?;
        Ok(mounts.iter().filter(|mount| mount.point == point).count())
    };
    let before = count()?;
    if before == 0 {
        return Ok(Outcome::Unchanged { value: None });
    }
    if !root.has_kernel() {
        return Ok(SKIPPED);
    }
    let failed = |error| Failure::call(&action, &error);
    effects.unmount(point).map_err(failed)?;
    match count()? < before {
        true => Ok(Outcome::DONE),
        false => Err(Failure::text(format!(
            "cannot {action}: it is still mounted"
        ))),
    }
}

pub(super) fn swap_on(
    swap: &Swap,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    if !root.has_kernel() {
        return Ok(SKIPPED);
    }
    let action = format!("make swap of {}", swap.path.display());
    let failed = |error| Failure::call(&action, &error);
    effects.swap_on(swap).map_err(failed)?;
    Ok(Outcome::DONE)
}

pub(super) fn swap_off(
    swap: &Swap,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    let action = format!("stop swapping to {}", swap.path.display());
    let failed = |error| Failure::call(&action, &error);
    if effects.stat(&swap.path).map_err(failed)?.is_none() {
        return Ok(Outcome::Unchanged { value: None });
    }
    if !root.has_kernel() {
        return Ok(SKIPPED);
    }
    effects.swap_off(swap).map_err(failed)?;
    Ok(Outcome::DONE)
}

pub(super) fn install(install: &Install, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let action = format!("write {}", install.path.display());
    let failed = |error| Failure::call(&action, &error);
    let now = effects.installed(&install.path).map_err(failed)?;
    if now.as_ref() == Some(&install.contents) {
        return Ok(Outcome::Unchanged { value: None });
    }
    effects.install(install).map_err(failed)?;
    Ok(Outcome::DONE)
}

pub(super) fn remove_file(path: &Path, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    match effects.remove_file(path) {
        Ok(()) => Ok(Outcome::DONE),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Outcome::Unchanged { value: None })
        }
        Err(error) => Err(Failure::call(&format!("remove {}", path.display()), &error)),
    }
}

pub(super) fn run(
    words: &[&str],
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    if !root.has_kernel() {
        return Ok(SKIPPED);
    }
    let failed = |error| Failure::call(&format!("run {}", words.join(" ")), &error);
    effects.run(words).map_err(failed)?;
    Ok(Outcome::DONE)
}
