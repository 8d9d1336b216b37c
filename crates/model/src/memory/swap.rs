//! Swap areas in use, and RAM disks that could serve as swap.

use std::path::PathBuf;

use crate::mount::unescape;
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::Bytes;

/// A swap area in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The file or device.
    pub path: PathBuf,
}

/// A RAM disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RamDisk {
    /// The device.
    pub path: PathBuf,
    /// Its size.
    pub size: Bytes,
}

/// Reads `/proc/swaps`. Returns no area if the kernel lacks the file.
pub fn read(root: &Root) -> Result<Vec<Swap>, FileError> {
    let bytes = root.read_opt(&KPath::from("/proc/swaps"))?;
    Ok(parse_swaps(&bytes.unwrap_or_default()))
}

/// Parses `/proc/swaps`. Skips the heading and invalid lines.
pub fn parse_swaps(bytes: &[u8]) -> Vec<Swap> {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1);
    lines.filter_map(parse_swap).collect()
}

/// Parses a line such as `/swap\040file  file  10236  0  -2`, with spaces or tabs between fields.
fn parse_swap(line: &[u8]) -> Option<Swap> {
    let mut fields = line.split(|byte| byte.is_ascii_whitespace());
    let path = fields.next().filter(|path| path.starts_with(b"/"))?;
    Some(Swap {
        path: unescape(path).into(),
    })
}

/// Lists the RAM disks (`/sys/block/ram*`) by number.
pub fn ram_disks(root: &Root) -> Result<Vec<RamDisk>, FileError> {
    /// Unit of `size` in sysfs.
    const SECTOR: u64 = 512;
    let dir = KPath::from("/sys/block");
    let mut disks: Vec<(u32, RamDisk)> = Vec::new();
    for name in root.list(&dir)? {
        let number = name.to_str().and_then(|name| name.strip_prefix("ram"));
        let Some(number) = number.and_then(|number| number.parse().ok()) else {
            continue;
        };
        let sectors = root.number_opt(&dir.join(format_args!("ram{number}/size")))?;
        let size = sectors.unwrap_or(0).saturating_mul(SECTOR);
        disks.push((
            number,
            RamDisk {
                path: PathBuf::from(format!("/dev/ram{number}")),
                size: Bytes::new(size),
            },
        ));
    }
    disks.sort_by_key(|(number, _)| *number);
    Ok(disks.into_iter().map(|(_, disk)| disk).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_are_parsed_and_unescaped() {
        let table = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
            /var/lib/a\\040b                          file\t\t10236\t\t4\t\t-2\n\
            odd\n\n";
        let swaps = parse_swaps(table);
        assert_eq!(swaps.len(), 1);
        assert_eq!(swaps[0].path, std::path::Path::new("/var/lib/a b"));
    }

    #[test]
    fn ram_disks_are_sorted_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let archive =
            "/sys/block/ram10/size = 32768\n/sys/block/ram2/size = 8\n/sys/block/sda/size = 1\n";
        crate::fixture::unpack(archive, dir.path()).unwrap();
        let disks = ram_disks(&Root::at(dir.path()).unwrap()).unwrap();
        let disks: Vec<_> = disks
            .iter()
            .map(|disk| (disk.path.to_str().unwrap(), disk.size.get()))
            .collect();
        assert_eq!(disks, [("/dev/ram2", 4096), ("/dev/ram10", 16 << 20)]);
    }
}
