//! Directories, mounts, swap and the files of `--install-boot`.

use std::io;
use std::path::{Path, PathBuf};

use hugetools_model::Root;
use hugetools_model::mount::{self, mounted_at};

use super::not_run;
use crate::effects::Effects;
use crate::report::{Failure, NotRun, Outcome};
use crate::step::{Install, MakeDir, Mount, SetOwner, Swap};

/// Returns the outcome of one call. `action` completes the message "cannot ...".
fn outcome(action: &str, result: io::Result<()>) -> Result<Outcome, Failure> {
    match result {
        Ok(()) => Ok(Outcome::DONE),
        Err(error) => Err(Failure::call(action, &error)),
    }
}

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
    let result = effects.remove_dir(path);
    match result.as_ref().err().and_then(io::Error::raw_os_error) {
        Some(libc::ENOENT) => Ok(Outcome::Unchanged { value: None }),
        Some(libc::ENOTEMPTY | libc::EEXIST | libc::EBUSY) => Ok(not_run(NotRun::InUse)),
        _ => outcome(&action, result),
    }
}

pub(super) fn mount(
    mount: &Mount,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Outcome, Failure> {
    let action = format!("mount a hugetlbfs on {}", mount.point.display());
    outcome(&action, effects.mount(mount))?;
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

pub(super) fn set_owner(own: &SetOwner, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let action = format!("set owner and mode of {}", own.point.display());
    let is_owned = |effects: &mut dyn Effects| match effects.stat(&own.point) {
        Ok(found) => Ok(found.is_some_and(|found| found.owner == own.owner)),
        Err(error) => Err(Failure::call(&action, &error)),
    };
    if is_owned(effects)? {
        return Ok(Outcome::Unchanged { value: None });
    }
    outcome(&action, effects.own(&own.point, own.owner))?;
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
    outcome(&action, effects.unmount(point))?;
    match count()? < before {
        true => Ok(Outcome::DONE),
        false => Err(Failure::text(format!(
            "cannot {action}: it is still mounted"
        ))),
    }
}

pub(super) fn swap_on(swap: &Swap, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let action = format!("use {} as swap", swap.path.display());
    outcome(&action, effects.swap_on(swap))
}

pub(super) fn swap_off(swap: &Swap, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let action = format!("stop swapping to {}", swap.path.display());
    let failed = |error| Failure::call(&action, &error);
    if effects.stat(&swap.path).map_err(failed)?.is_none() {
        return Ok(Outcome::Unchanged { value: None });
    }
    outcome(&action, effects.swap_off(swap))
}

pub(super) fn install(install: &Install, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let action = format!("write {}", install.path.display());
    let failed = |error| Failure::call(&action, &error);
    let now = effects.read_installed(&install.path).map_err(failed)?;
    if now.as_ref() == Some(&install.contents) {
        return Ok(Outcome::Unchanged { value: None });
    }
    outcome(&action, effects.install(install))
}

pub(super) fn remove_file(path: &Path, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    match effects.remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Outcome::Unchanged { value: None })
        }
        result => outcome(&format!("remove {}", path.display()), result),
    }
}

pub(super) fn run(words: &[&str], effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    outcome(&format!("run {}", words.join(" ")), effects.run(words))
}
