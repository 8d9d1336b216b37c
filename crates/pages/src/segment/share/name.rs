//! Names of shared copies.

use core::ffi::CStr;

use crate::rt::path::Path;
use crate::sys::FileVersion;

/// A part of a program's file, in whole huge pages.
pub(super) struct Part {
    /// Offset in the file.
    pub(super) offset: usize,
    /// Length in memory; zeros follow the file's end.
    pub(super) len: usize,
}

/// The file names for a part of a program.
pub(super) struct Names {
    /// The complete file.
    pub(super) finished: Path,
    /// The file being made, which is also the lock.
    pub(super) unfinished: Path,
    /// Prefix for all versions of this program.
    program: Path,
    /// Prefix for this version.
    version: Path,
}

impl Names {
    /// The names for a program; `None` if too long.
    pub(super) fn of(path: &[u8], version: &FileVersion, part: &Part) -> Option<Names> {
        let FileVersion {
            device,
            inode,
            size,
            modified,
            changed,
        } = version;
        let (word, hash) = (word(path), hash(path));
        let program = Path::of(format_args!("{word}-{hash:x}-{device:x}-"))?;
        let text = program.c_str().to_str().ok()?;
        let version = Path::of(format_args!(
            "{text}{inode:x}-{size:x}-{modified:x}-{changed:x}-"
        ))?;
        let text = version.c_str().to_str().ok()?;
        let Part { offset, len } = part;
        let finished = Path::of(format_args!("{text}{offset:x}-{len:x}"))?;
        let text = finished.c_str().to_str().ok()?;
        let unfinished = Path::of(format_args!("{text}.tmp"))?;
        Some(Names {
            unfinished,
            program,
            version,
            finished,
        })
    }

    /// Whether a name belongs to another version of this program.
    pub(super) fn is_outdated(&self, name: &CStr) -> bool {
        let begins = |prefix: &Path| name.to_bytes().starts_with(prefix.c_str().to_bytes());
        begins(&self.program) && !begins(&self.version)
    }
}

/// The program's base name, shortened.
fn word(path: &[u8]) -> &str {
    const MOST: usize = 40;
    let base = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let base = &base[..base.len().min(MOST)];
    base.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// 64-bit FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_their_names() {
        let version = FileVersion {
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
        let name = |path: &[u8], version: &FileVersion| {
            let names = Names::of(path, version, &part).unwrap();
            names.finished.c_str().to_owned()
        };
        let path = b"/opt/solver";
        let ours = name(path, &version);
        let text = ours.to_str().unwrap();
        assert!(text.starts_with("solver-"), "{text}");
        assert!(
            text.ends_with("-fe00-1234-100-abc-def-200000-400000"),
            "{text}"
        );
        let names = Names::of(path, &version, &part).unwrap();
        assert!(!names.is_outdated(&ours));
        assert!(!names.is_outdated(names.unfinished.c_str()));
        assert!(!names.is_outdated(c"other"));
        let rebuilt = FileVersion {
            inode: 0x1235,
            ..version
        };
        assert!(names.is_outdated(&name(path, &rebuilt)));
        let touched = FileVersion {
            changed: 0xdf0,
            ..version
        };
        assert!(names.is_outdated(&name(path, &touched)));
        assert!(!names.is_outdated(&name(b"/usr/solver", &rebuilt)));
        assert!(word(b"/a/\xff").is_empty() && word(&[b'x'; 99]).len() == 40);
    }
}
