//! Lines of `/proc/<pid>/mountinfo` and `/proc/<pid>/mounts`. Escapes are not decoded; see
//! [`decode`](crate::escape::decode).

/// One mount, as the kernel writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mount<'a> {
    /// The device, as `98:0`.
    pub device: &'a [u8],
    /// The mount point.
    pub point: &'a [u8],
    /// The file system type.
    pub fs_type: &'a [u8],
    /// The options of the mount.
    pub options: &'a [u8],
    /// The options of the file system.
    pub fs_options: &'a [u8],
}

impl<'a> Mount<'a> {
    /// Parses a line such as `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root
    /// rw,errors=continue`. Returns `None` for an invalid line.
    pub fn of_mountinfo(line: &'a [u8]) -> Option<Mount<'a>> {
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        let (device, _root) = (words.next()?, words.next()?);
        let (point, options) = (words.next()?, words.next()?);
        words.find(|word| *word == b"-")?;
        let fs_type = words.next()?;
        Some(Mount {
            device,
            point,
            fs_type,
            options,
            fs_options: words.nth(1).unwrap_or_default(),
        })
    }

    /// Whether this word is an option of the file system.
    pub fn has_fs_option(&self, word: &[u8]) -> bool {
        let mut words = self.fs_options.split(|byte| *byte == b',');
        words.any(|option| option == word)
    }
}

/// Returns the mount point in a line of `/proc/<pid>/mounts`, such as `none /mnt hugetlbfs rw 0 0`;
/// `None` for other file systems.
pub fn hugetlbfs_point(line: &[u8]) -> Option<&[u8]> {
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t'));
    let point = words.nth(1)?;
    (words.next()? == b"hugetlbfs").then_some(point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hugetlbfs_has_a_point() {
        let point = Some(&b"/mnt/a\\040b"[..]);
        assert_eq!(
            hugetlbfs_point(b"none /mnt/a\\040b hugetlbfs rw 0 0"),
            point
        );
        assert_eq!(hugetlbfs_point(b"/\t/mnt/a\\040b\thugetlbfs"), point);
        for other in [
            &b"/dev/sda1 /mnt/hugetlbfs ext4 rw 0 0"[..],
            b"hugetlbfs /mnt/c hugetlbfs2 rw 0 0",
            b"none /mnt",
            b"",
        ] {
            assert_eq!(hugetlbfs_point(other), None);
        }
    }

    #[test]
    fn optional_fields_end_at_a_dash() {
        let line = b"31 1 0:27 / /a\\040b rw,nosuid shared:9 master:1 - cgroup none rw,cpu,memory";
        let mount = Mount::of_mountinfo(line).unwrap();
        assert_eq!(
            (mount.device, mount.point),
            (&b"0:27"[..], &b"/a\\040b"[..])
        );
        assert_eq!(
            (mount.fs_type, mount.options),
            (&b"cgroup"[..], &b"rw,nosuid"[..])
        );
        assert!(mount.has_fs_option(b"memory") && !mount.has_fs_option(b"mem"));
        let short = Mount::of_mountinfo(b"30 1 0:27 / /a rw - hugetlbfs").unwrap();
        assert_eq!(
            (short.fs_type, short.fs_options),
            (&b"hugetlbfs"[..], &b""[..])
        );
        for odd in [
            &b""[..],
            b"1 2 3",
            b"30 1 0:27 / /a rw shared:1 cgroup",
            b"1 2 3 4 5 -",
        ] {
            assert_eq!(Mount::of_mountinfo(odd), None);
        }
    }
}
