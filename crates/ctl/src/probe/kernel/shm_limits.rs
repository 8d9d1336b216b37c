//! The limits of System V shared memory: of one segment, and of all of them together.

use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::{sysctl, zone};
use hugetools_model::{Bytes, FileError, KPath, Root};

/// The file of `kernel.shmall`, in base pages.
pub(crate) const SHMALL: &str = "/proc/sys/kernel/shmall";

/// What the kernel sets both to at boot.
pub(crate) const UNLIMITED: u64 = u64::MAX - (1 << 24);

/// The limits; `None` where a file that says one is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShmLimits {
    /// The largest segment (`kernel.shmmax`).
    pub(crate) largest: Option<Bytes>,
    /// All segments together (`kernel.shmall`).
    pub(crate) all: Option<All>,
}

/// The limit of all segments together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct All {
    /// The value of the file, in base pages.
    pub(crate) pages: u64,
    /// What the present segments leave of it.
    pub(crate) left: Bytes,
}

impl ShmLimits {
    /// Reads the limits.
    pub(super) fn read(root: &Root, meminfo: &Meminfo) -> Result<ShmLimits, FileError> {
        let largest = root.number_opt(&sysctl::shmmax_path())?;
        let pages = root.number_opt(&KPath::from(SHMALL))?;
        let base = zone::base_page_size(root, meminfo.total, &[])?;
        let all = match (pages, base) {
            (Some(pages), Some(base)) => Some(All {
                pages,
                left: left(root, pages, base.get())?,
            }),
            _ => None,
        };
        Ok(ShmLimits {
            largest: largest.map(Bytes::new),
            all,
        })
    }
}

/// Returns what the present segments leave of `pages`, each rounded up to `base` bytes.
fn left(root: &Root, pages: u64, base: u64) -> Result<Bytes, FileError> {
    let table = root.read_opt(&KPath::from("/proc/sysvipc/shm"))?;
    let table = String::from_utf8_lossy(table.as_deref().unwrap_or_default()).into_owned();
    let size = |line: &str| line.split_ascii_whitespace().nth(3)?.parse::<u64>().ok();
    let used = table.lines().filter_map(size);
    let used = used.fold(0, |sum: u64, size| sum.saturating_add(size.div_ceil(base)));
    Ok(Bytes::new(pages.saturating_sub(used).saturating_mul(base)))
}
