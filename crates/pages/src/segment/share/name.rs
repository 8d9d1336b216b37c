//! What a shared copy is called.

use core::ffi::CStr;

use super::make::Part;
use crate::file::Path;
use crate::sys::Version;

/// The names that belong to a part of a program.
pub(super) struct Names {
    /// Of the complete file.
    pub(super) finished: Path,
    /// Of the file while it is made, which is the lock as well.
    pub(super) unfinished: Path,
    /// What the names of all versions of this program begin with.
    program: Path,
    /// And those of this version.
    version: Path,
}

impl Names {
    /// The names for a program of this version, `word` being its name for
    /// people. `None` where they are too long.
    pub(super) fn of(version: &Version, word: &str, part: &Part) -> Option<Names> {
        let Version {
            device,
            inode,
            size,
            modified,
            changed,
        } = version;
        let program = Path::of(format_args!("{device:x}-{inode:x}-"))?;
        let text = program.c_str().to_str().ok()?;
        let version = Path::of(format_args!("{text}{size:x}-{modified:x}-{changed:x}-"))?;
        let text = version.c_str().to_str().ok()?;
        let Part { offset, len } = part;
        let finished = Path::of(format_args!("{text}{offset:x}-{len:x}-{word}"))?;
        let text = finished.c_str().to_str().ok()?;
        let unfinished = Path::of(format_args!("{text}.tmp"))?;
        Some(Names {
            unfinished,
            program,
            version,
            finished,
        })
    }

    /// Whether a name is that of another version of this program.
    pub(super) fn is_outdated(&self, name: &CStr) -> bool {
        let begins = |prefix: &Path| name.to_bytes().starts_with(prefix.c_str().to_bytes());
        begins(&self.program) && !begins(&self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_their_names() {
        let version = Version {
            device: 0xfe00,
            inode: 0x1234,
            size: 0x100,
            modified: 0xabc,
            changed: 0xdef,
        };
        let part = Part {
            offset: 0x20_0000,
            len: 0x40_0000,
        };
        let names = Names::of(&version, "solver", &part).unwrap();
        let name = names.finished.c_str();
        assert_eq!(name, c"fe00-1234-100-abc-def-200000-400000-solver");
        assert!(!names.is_outdated(name));
        assert!(!names.is_outdated(names.unfinished.c_str()));
        assert!(!names.is_outdated(c"other"));
        assert!(names.is_outdated(c"fe00-1234-100-abc-de0-200000-400000-solver"));
        assert!(names.is_outdated(c"fe00-1234-101-abc-def-200000-400000-solver.tmp"));
        assert!(!names.is_outdated(c"fe00-12345-100-abc-def-200000-400000-solver"));
    }
}
