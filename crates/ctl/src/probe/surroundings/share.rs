//! The hugetlbfs that shared text lies on: the first mount of the size that this
//! user may make files in.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hugetools_contract::env::SHARE_PATH;
use hugetools_model::mount::{self, Mount};
use hugetools_model::{FileError, PageSize};
use nix::unistd::AccessFlags;

use super::Scene;
use crate::files::{access, accounts};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

const NOT_SHARED: &str = "text is not shared: each process has a copy of its own";

/// What keeps text from being shared, if anything does.
pub(super) fn look(scene: &Scene<'_>, size: PageSize) -> Result<Option<Note>, FileError> {
    let told = [SHARE_PATH, "HUGETLB_PATH"];
    if told.iter().any(|name| scene.caller.var(name).is_some()) {
        return Ok(None);
    }
    let mounts = mount::read(scene.root)?;
    let default = scene.kernel.default;
    let is_of = |mount: &&Mount| {
        let is_default = default == Some(size);
        mount.is_hugetlbfs() && mount.page_size().map_or(is_default, |own| own == size)
    };
    let fitting: Vec<&Mount> = mounts.iter().filter(is_of).collect();
    let may_use = |mount: &&&Mount| {
        let rights = AccessFlags::W_OK | AccessFlags::X_OK;
        access::may(&mount.point, rights).is_ok()
    };
    if scene.root.is_live() && fitting.iter().any(|mount| may_use(&mount)) {
        return Ok(None);
    }
    let short = match (fitting.first(), mounts.iter().find(|m| m.is_hugetlbfs())) {
        (Some(_), _) if !scene.root.is_live() => return Ok(None),
        (Some(mount), _) => not_ours(&mount.point),
        (None, Some(other)) => of_other_size(other, size),
        (None, None) => {
            let fact = format!("no hugetlbfs with pages of {size} is mounted");
            Shortfall::new(Subject::TEXT, fact).says("/proc/self/mountinfo", "no hugetlbfs")
        }
    };
    let command = match scene.caller.euid {
        0 => "hugeadm --create-mounts".to_owned(),
        uid => format!("hugeadm --create-user-mounts {}", accounts::user(uid)),
    };
    let short = short.then(NOT_SHARED).mend("to mount one", command);
    Ok(Some(Note::short(Level::Warning, short)))
}

fn not_ours(point: &Path) -> Shortfall {
    let fact = format!("{} is for others", point.display());
    let value = match std::fs::metadata(point) {
        Ok(metadata) => format!(
            "uid {}, mode {:04o}",
            metadata.uid(),
            metadata.mode() & 0o7777
        ),
        Err(error) => error.to_string(),
    };
    Shortfall::new(Subject::TEXT, fact).says(point.display(), value)
}

fn of_other_size(other: &Mount, size: PageSize) -> Shortfall {
    let point = other.point.display();
    let own = other
        .page_size()
        .map_or_else(|| "another size".to_owned(), |own| own.to_string());
    let fact = format!("the hugetlbfs at {point} has pages of {own}, not of {size}");
    Shortfall::new(Subject::TEXT, fact).says("/proc/self/mountinfo", &other.options)
}
