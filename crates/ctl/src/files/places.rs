//! Places for our directories, which nobody else can write. `apply` creates them.
//!
//! | user | places, in turn |
//! |---|---|
//! | root | `/run/hugetools`, `/tmp/hugetools-0` |
//! | others | `~/.cache/hugetools`, `$XDG_RUNTIME_DIR/hugetools`, `/tmp/hugetools-<uid>` |
//!
//! `$XDG_RUNTIME_DIR` is removed at the user's last logout. Programs under `nohup` or in a
//! terminal multiplexer outlive that, and the loader would complain in each of their children.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::caller::Caller;

/// A directory that may hold ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The parent of our directory. It must exist, unless `make` is set.
    pub(crate) base: PathBuf,
    /// Whether `apply` may create the base.
    pub(crate) make: bool,
    /// The name of our directory in it.
    pub(crate) name: String,
}

/// Returns the places of a user, the best first.
pub(crate) fn places(caller: &Caller) -> Vec<Place> {
    let at = |base: PathBuf, make, name: &str| Place {
        base,
        make,
        name: name.to_owned(),
    };
    let temporary = at("/tmp".into(), false, &format!("hugetools-{}", caller.euid));
    if caller.euid == 0 {
        return vec![at("/run".into(), false, "hugetools"), temporary];
    }
    let absolute = |name| {
        caller
            .var(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let run_time = absolute("XDG_RUNTIME_DIR").map(|dir| at(dir, false, "hugetools"));
    let cache = absolute("HOME").map(|dir| at(dir.join(".cache"), true, "hugetools"));
    cache
        .into_iter()
        .chain(run_time)
        .chain([temporary])
        .collect()
}

impl Place {
    pub(crate) fn dir(&self) -> PathBuf {
        self.base.join(&self.name)
    }

    /// Checks that others cannot rename files in the base.
    pub(crate) fn check_base(&self, user: u32) -> io::Result<()> {
        const STICKY: u32 = 0o1000;
        const OTHERS_WRITE: u32 = 0o022;
        let metadata = fs::metadata(&self.base)?;
        let mode = metadata.mode();
        let closed = mode & OTHERS_WRITE == 0 || mode & STICKY != 0;
        match metadata.is_dir() && closed && [0, user].contains(&metadata.uid()) {
            true => Ok(()),
            false => Err(io::Error::other("others can change its directory")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn root_and_others_have_their_own_places() {
        let var = |name: &str, value: &str| (name.into(), value.into());
        let mut caller = Caller::this([var("HOME", "/home/x"), var("XDG_RUNTIME_DIR", "run")]);
        caller.euid = 0;
        let dirs =
            |caller: &Caller| -> Vec<PathBuf> { places(caller).iter().map(Place::dir).collect() };
        assert_eq!(
            dirs(&caller),
            [Path::new("/run/hugetools"), Path::new("/tmp/hugetools-0")]
        );
        caller.euid = 7;
        let other = [
            Path::new("/home/x/.cache/hugetools"),
            Path::new("/tmp/hugetools-7"),
        ];
        assert_eq!(dirs(&caller), other, "a relative directory is not believed");
        caller.env = vec!["XDG_RUNTIME_DIR=/run/user/7".into(), "HOME=/home/x".into()];
        let other = [
            Path::new("/home/x/.cache/hugetools"),
            Path::new("/run/user/7/hugetools"),
            Path::new("/tmp/hugetools-7"),
        ];
        assert_eq!(dirs(&caller), other);
    }
}
