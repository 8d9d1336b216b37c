//! `/proc/meminfo`, and for each node `/sys/devices/system/node/node*/meminfo`.

use hugetools_kernfs::keyed::{self, Quantity};
use hugetools_kernfs::pool;

use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::{Bytes, PageCount, PageSize};

/// The fields of `/proc/meminfo` that huge page administration needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Meminfo {
    /// `MemTotal`: usable memory.
    pub total: Bytes,
    /// `MemAvailable`, since Linux 3.14.
    pub available: Option<Bytes>,
    /// `Hugepagesize`: the default huge page size. Absent without `CONFIG_HUGETLB_PAGE`,
    /// or if the machine supports no huge pages.
    pub huge_page_size: Option<PageSize>,
    /// `HugePages_Total` of the default size, surplus pages included.
    pub huge_total: Option<PageCount>,
    /// `HugePages_Free` of the default size.
    pub huge_free: Option<PageCount>,
    /// `HugePages_Rsvd` of the default size: reserved but not yet touched.
    pub huge_reserved: Option<PageCount>,
    /// `HugePages_Surp` of the default size: above the persistent pool.
    pub huge_surplus: Option<PageCount>,
}

const PATH: &str = "/proc/meminfo";

impl Meminfo {
    /// Reads `/proc/meminfo`; returns the default if the file is missing.
    pub fn read(root: &Root) -> Result<Meminfo, FileError> {
        let path = KPath::from(PATH);
        match root.read_opt(&path)? {
            None => Ok(Meminfo::default()),
            Some(bytes) => Meminfo::parse(&bytes).map_err(|what| FileError::content(&path, what)),
        }
    }

    /// Parses the contents of the file.
    pub fn parse(bytes: &[u8]) -> Result<Meminfo, String> {
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let find = |name: &str| lines.iter().find(|line| line.starts_with(name.as_bytes()));
        let line = |name| find(name).copied();
        let bytes_of = |name| line(name).map(|line| in_bytes(line, name)).transpose();
        let pages_of = |name| line(name).map(|line| in_pages(line, name)).transpose();
        let size = bytes_of("Hugepagesize:")?;
        Ok(Meminfo {
            total: bytes_of("MemTotal:")?.unwrap_or_default(),
            available: bytes_of("MemAvailable:")?,
            huge_page_size: size.and_then(|size| PageSize::new(size.get())),
            huge_total: pages_of("HugePages_Total:")?,
            huge_free: pages_of("HugePages_Free:")?,
            huge_reserved: pages_of("HugePages_Rsvd:")?,
            huge_surplus: pages_of("HugePages_Surp:")?,
        })
    }
}

/// Returns a value such as `MemTotal:` of a node's `meminfo`, whose lines begin with
/// `Node <n> `.
pub fn parse_node_line(bytes: &[u8], name: &str) -> Result<Option<Bytes>, String> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.find_map(|line| {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let is_node = words.next() == Some(b"Node");
        let line = words.nth(1).filter(|_| is_node)?;
        line.starts_with(name.as_bytes()).then_some(line)
    });
    line.map(|line| in_bytes(line, name)).transpose()
}

/// Returns the bytes in a line with this name.
fn in_bytes(line: &[u8], name: &str) -> Result<Bytes, String> {
    let found = quantity(line, name)?;
    let bytes = found.bytes().map(Bytes::new);
    bytes.ok_or_else(|| {
        let name = name.trim_end_matches(':');
        format!("{name}: {} kB do not fit into 64 bits", found.number)
    })
}

/// Returns the page count in a line with this name.
fn in_pages(line: &[u8], name: &str) -> Result<PageCount, String> {
    match quantity(line, name)? {
        found if found.is_kib => {
            let name = name.trim_end_matches(':');
            Err(format!("{name}: the page count has a unit"))
        }
        found => Ok(PageCount::new(pool::count(found.number))),
    }
}

fn quantity(line: &[u8], name: &str) -> Result<Quantity, String> {
    let value = keyed::value_in(line, name.as_bytes());
    value.and_then(Quantity::parse).ok_or_else(|| {
        let line = String::from_utf8_lossy(line);
        format!("invalid line {:?}", line.trim_end())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_name_must_match() {
        let text = b"HugePages_Total_x: 5\nMemTotal:  4024476 kB\nHugePages_Total:      74\n\
                     Hugepagesize:       2048 kB\n";
        let meminfo = Meminfo::parse(text).unwrap();
        assert_eq!(meminfo.total, Bytes::new(4_024_476 * 1024));
        assert_eq!(meminfo.huge_total, Some(PageCount::new(74)));
        assert_eq!(meminfo.huge_page_size, PageSize::from_kib(2048));
        assert_eq!(meminfo.available, None);
    }

    #[test]
    fn wrong_units_and_overflow_are_errors() {
        assert!(Meminfo::parse(b"MemTotal: x kB\n").is_err());
        assert!(Meminfo::parse(b"MemTotal: 5 MB\n").is_err());
        assert!(Meminfo::parse(b"HugePages_Total: 5 kB\n").is_err());
        assert!(Meminfo::parse(b"MemTotal: 18446744073709551615 kB\n").is_err());
    }

    #[test]
    fn a_node_line_has_its_own_prefix() {
        let text = b"\nNode 3 MemFree:  1 kB\nNode 3 MemTotal:         514636 kB\n";
        assert_eq!(
            parse_node_line(text, "MemTotal:"),
            Ok(Some(Bytes::new(514_636 * 1024)))
        );
        assert_eq!(parse_node_line(b"", "MemTotal:"), Ok(None));
    }
}
