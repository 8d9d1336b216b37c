//! Mounted file systems: `/proc/self/mountinfo`, with the kernel's octal escapes decoded.
//!
//! **Invariants.** Mount points are bytes, as in the kernel. An invalid line hides no other.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hugetools_kernfs::escape::decode;
use hugetools_kernfs::mountinfo;

use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::root::{Owner, Root};
use crate::units::size::{PageSize, Quantity};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The mount point.
    pub point: PathBuf,
    /// The file system type, such as `hugetlbfs`.
    pub fs_type: String,
    /// All options, of the mount and of the file system, as in `/proc/mounts`.
    ///
    /// For a hugetlbfs, `uid`, `gid` and `mode` are those of its root directory now. The
    /// kernel prints those of the mount call.
    pub options: String,
    /// The device number; `None` if the table lacks it.
    pub device: Option<u64>,
}

/// The default owner and mode of a hugetlbfs root. The kernel doesn't print them.
const ROOT_DIR: Owner = Owner {
    uid: 0,
    gid: 0,
    mode: 0o755,
};

impl Mount {
    /// Whether this is a hugetlbfs.
    pub fn is_hugetlbfs(&self) -> bool {
        self.fs_type.eq_ignore_ascii_case("hugetlbfs")
    }

    /// Returns the value of an option such as `pagesize`.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .split(',')
            .filter_map(|option| option.split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Puts owner and mode of the root directory into the options. A mount hidden under
    /// another mount keeps those of its mount call.
    fn show_owner(&mut self, root: &Root) {
        match root.owner_on(&self.point) {
            Some((owner, device)) if Some(device) == self.device => self.set_owner(owner),
            _ => {}
        }
    }

    fn set_owner(&mut self, owner: Owner) {
        let is_of_owner = |word: &&str| {
            let mut names = ["uid=", "gid=", "mode="].iter();
            names.any(|name| word.starts_with(name))
        };
        let words = self.options.split(',').filter(|word| !is_of_owner(word));
        let mut words: Vec<String> = words.map(str::to_owned).collect();
        // The kernel prints owner and mode before all other options of a hugetlbfs.
        let at = words.iter().position(|word| word.contains('='));
        let at = at.unwrap_or(words.len());
        let shown = [
            (owner.uid != ROOT_DIR.uid).then(|| format!("uid={}", owner.uid)),
            (owner.gid != ROOT_DIR.gid).then(|| format!("gid={}", owner.gid)),
            (owner.mode != ROOT_DIR.mode).then(|| format!("mode={:o}", owner.mode)),
        ];
        words.splice(at..at, shown.into_iter().flatten());
        self.options = words.join(",");
    }

    /// Whether a hugetlbfs has pages of this size. Old kernels don't show the default size.
    pub fn is_of(&self, size: PageSize, is_default: bool) -> bool {
        self.page_size().map_or(is_default, |own| own == size)
    }

    /// Returns the page size of a hugetlbfs.
    pub fn page_size(&self) -> Option<PageSize> {
        let bytes = self
            .option("pagesize")?
            .parse::<Quantity>()
            .ok()?
            .bytes()
            .ok()?;
        PageSize::new(bytes.get())
    }
}

/// Reads the mounts in mount order.
pub fn read(root: &Root) -> Result<Vec<Mount>, FileError> {
    let bytes = root.read_opt(&KPath::from("/proc/self/mountinfo"))?;
    let mut mounts = parse_mountinfo(&bytes.unwrap_or_default());
    for mount in mounts.iter_mut().filter(|mount| mount.is_hugetlbfs()) {
        mount.show_owner(root);
    }
    Ok(mounts)
}

/// Parses `mountinfo`. Skips invalid lines.
pub fn parse_mountinfo(bytes: &[u8]) -> Vec<Mount> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(of_mountinfo).collect()
}

fn of_mountinfo(line: &[u8]) -> Option<Mount> {
    let mount = mountinfo::Mount::of_mountinfo(line)?;
    Some(Mount {
        point: unescape(mount.point).into(),
        fs_type: text(mount.fs_type),
        options: join_options(&text(mount.options), &text(mount.fs_options)),
        device: device(mount.device),
    })
}

/// Parses `0:24`.
fn device(text: &[u8]) -> Option<u64> {
    let (major, minor) = std::str::from_utf8(text).ok()?.split_once(':')?;
    Some(libc::makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// Joins the options as `/proc/mounts` does: one read-only flag for mount and file
/// system, then the options of the mount, then those of the file system.
fn join_options(mount: &str, file_system: &str) -> String {
    let words = || mount.split(',').chain(file_system.split(','));
    let flag = if words().any(|word| word == "ro") {
        "ro"
    } else {
        "rw"
    };
    let others = words().filter(|word| !matches!(*word, "" | "rw" | "ro"));
    let joined: Vec<&str> = std::iter::once(flag).chain(others).collect();
    joined.join(",")
}

fn text(bytes: &[u8]) -> String {
    unescape(bytes).to_string_lossy().into_owned()
}

/// Decodes octal escapes such as `\040`.
pub(crate) fn unescape(bytes: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(bytes.len());
    decode(bytes, |byte| out.push(byte));
    OsString::from_vec(out)
}

/// Returns the topmost mount at exactly this mount point.
pub fn mounted_at<'a>(mounts: &'a [Mount], point: &Path) -> Option<&'a Mount> {
    mounts.iter().rev().find(|mount| mount.point == point)
}

/// Escapes a path as the kernel does, for tables and shell output with one path per line.
pub fn escape(path: &Path) -> String {
    let mut out = Vec::new();
    for &byte in OsStr::as_bytes(path.as_os_str()) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\\' => {
                out.extend_from_slice(format!("\\{byte:03o}").as_bytes());
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RECORDED: &[u8] =
        b"27 24 0:24 / /dev/hugepages rw,relatime - hugetlbfs h rw,pagesize=2M\n\
        28 1 0:25 / /var/lib/x rw,relatime shared:5 - hugetlbfs none rw,mode=1777,pagesize=2M\n\
        29 1 0:26 / /mnt/huge\\040pages ro,relatime - hugetlbfs none rw,uid=100,pagesize=1024M\n";

    #[test]
    fn recorded_lines() {
        let mounts = parse_mountinfo(RECORDED);
        assert_eq!(mounts.len(), 3);
        assert_eq!(mounts[0].point, Path::new("/dev/hugepages"));
        assert_eq!(mounts[0].options, "rw,relatime,pagesize=2M");
        assert_eq!(mounts[1].option("mode"), Some("1777"));
        assert_eq!(mounts[2].point, Path::new("/mnt/huge pages"));
        assert_eq!(mounts[2].page_size(), PageSize::new(1 << 30));
        assert_eq!(mounts[2].options, "ro,relatime,uid=100,pagesize=1024M");
    }

    #[test]
    fn owner_and_mode_are_those_of_the_root() {
        let options = |text: &str, owner: Owner| {
            let line = format!("1 1 0:1 / /a {text} - hugetlbfs none\n");
            let mut mount = parse_mountinfo(line.as_bytes()).remove(0);
            mount.set_owner(owner);
            mount.options
        };
        let owner = |uid, gid, mode| Owner { uid, gid, mode };
        assert_eq!(
            options(
                "rw,relatime,mode=1777,nr_inodes=9,pagesize=2M",
                owner(7, 0, 0o700)
            ),
            "rw,relatime,uid=7,mode=700,nr_inodes=9,pagesize=2M"
        );
        assert_eq!(
            options(
                "rw,uid=1,gid=2,mode=700,pagesize=2M,size=0",
                owner(0, 0, 0o755)
            ),
            "rw,pagesize=2M,size=0"
        );
        assert_eq!(
            options("rw,relatime", owner(0, 8, 0o70)),
            "rw,relatime,gid=8,mode=70"
        );
    }

    #[test]
    fn an_invalid_line_hides_no_other() {
        let mut bytes = b"\xff\xfe\n1 2 3\n30 1 0:27 / /a\\ rw - hugetlbfs\n".to_vec();
        bytes.extend_from_slice(RECORDED);
        let mounts = parse_mountinfo(&bytes);
        assert_eq!(mounts.len(), 4);
        assert_eq!(mounts[0].point, Path::new("/a\\"));
    }

    #[test]
    fn paths_are_escaped_as_the_kernel_does() {
        assert_eq!(escape(Path::new("/a b\\c\n")), "/a\\040b\\134c\\012");
    }

    proptest! {
        #[test]
        fn escaped_paths_are_decoded(path in "[ -~\n\t]{1,30}") {
            let line = format!("1 1 0:1 / {} rw - hugetlbfs none rw", escape(Path::new(&path)));
            let mounts = parse_mountinfo(line.as_bytes());
            prop_assert_eq!(&mounts[0].point, Path::new(&path));
        }
    }
}
