//! Transparent huge pages: `/sys/kernel/mm/transparent_hugepage`.
//!
//! **Invariants.** A mode is the kernel's own word, even one newer than this program.

pub mod stats;

use std::collections::BTreeMap;

use hugetools_kernfs::choice::{chosen, offered};

use crate::hugetlb::pool::sizes_in;
use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::PageSize;

/// The modes of transparent huge pages; absent without `CONFIG_TRANSPARENT_HUGEPAGE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thp {
    /// `enabled`: `always`, `madvise` or `never`.
    pub enabled: Option<String>,
    /// `defrag`: how much a page fault may reclaim and compact.
    pub defrag: Option<String>,
    /// `shmem_enabled`: the mode for shared memory, since Linux 4.8.
    pub shmem_enabled: Option<String>,
    /// `hpage_pmd_size`: the size of a PMD-mapped huge page, since Linux 4.10.
    pub pmd_size: Option<PageSize>,
    /// `hugepages-*kB/enabled`: multi-size THP, since Linux 6.8, in ascending order.
    pub sizes: Vec<ThpSize>,
}

/// One size of multi-size THP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThpSize {
    /// The size.
    pub size: PageSize,
    /// `enabled`: `always`, `inherit`, `madvise` or `never`.
    pub enabled: Option<String>,
}

/// The supported modes, and the numeric settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThpSettings {
    /// The words that each file offers; none in a recorded tree after a write of one word.
    pub words: BTreeMap<KPath, Vec<String>>,
    /// The numbers that the kernel has, by the names in [`NUMBERS`].
    pub numbers: BTreeMap<&'static str, u64>,
}

/// The files with numbers, below [`dir`].
pub const NUMBERS: [&str; 5] = [
    "use_zero_page",
    "khugepaged/pages_to_scan",
    "khugepaged/scan_sleep_millisecs",
    "khugepaged/alloc_sleep_millisecs",
    "khugepaged/max_ptes_none",
];

/// Returns the directory of the settings.
pub fn dir() -> KPath {
    KPath::from("/sys/kernel/mm/transparent_hugepage")
}

/// Reads `hpage_pmd_size`, the size of a PMD-mapped huge page; `None` without
/// `CONFIG_TRANSPARENT_HUGEPAGE`, and before Linux 4.10.
pub fn pmd_size(root: &Root) -> Result<Option<PageSize>, FileError> {
    let bytes = root.number_opt(&dir().join("hpage_pmd_size"))?;
    Ok(bytes.and_then(PageSize::new))
}

/// Returns the directory of one size's settings.
pub fn size_dir(size: PageSize) -> KPath {
    dir().join(format_args!("hugepages-{}kB", size.kib()))
}

impl ThpSettings {
    /// Reads the settings; none without `CONFIG_TRANSPARENT_HUGEPAGE`.
    pub(crate) fn read(root: &Root, sizes: &[ThpSize]) -> Result<ThpSettings, FileError> {
        let mut words = BTreeMap::new();
        let of_sizes = sizes.iter().map(|size| size_dir(size.size).join("enabled"));
        let files = ["enabled", "defrag", "shmem_enabled"].map(|name| dir().join(name));
        for path in files.into_iter().chain(of_sizes) {
            if let Some(bytes) = root.read_opt(&path)? {
                let text = |word| String::from_utf8_lossy(word).into_owned();
                let offered = offered(&bytes).into_iter().flatten();
                words.insert(path, offered.map(text).collect());
            }
        }
        let mut numbers = BTreeMap::new();
        for name in NUMBERS {
            if let Some(number) = root.number_opt(&dir().join(name))? {
                numbers.insert(name, number);
            }
        }
        Ok(ThpSettings { words, numbers })
    }
}

impl Thp {
    /// Reads the modes.
    pub fn read(root: &Root) -> Result<Option<Thp>, FileError> {
        let Some(modes) = Thp::read_modes(root, true)? else {
            return Ok(None);
        };
        Ok(Some(Thp {
            defrag: choice(root, &dir().join("defrag"))?,
            pmd_size: pmd_size(root)?,
            sizes: read_sizes(root)?,
            ..modes
        }))
    }

    /// Reads fewer files than [`Thp::read`]: `enabled`, globally and of the PMD size, and with
    /// `shared` also `shmem_enabled`.
    pub fn read_pmd_modes(root: &Root, shared: bool) -> Result<Option<Thp>, FileError> {
        let Some(mut modes) = Thp::read_modes(root, shared)? else {
            return Ok(None);
        };
        modes.pmd_size = pmd_size(root)?;
        if let Some(size) = modes.pmd_size {
            let enabled = choice(root, &size_dir(size).join("enabled"))?;
            modes.sizes.push(ThpSize { size, enabled });
        }
        Ok(Some(modes))
    }

    fn read_modes(root: &Root, shared: bool) -> Result<Option<Thp>, FileError> {
        let Some(enabled) = choice(root, &dir().join("enabled"))? else {
            return Ok(None);
        };
        let shmem_enabled = match shared {
            true => choice(root, &dir().join("shmem_enabled"))?,
            false => None,
        };
        Ok(Some(Thp {
            enabled: Some(enabled),
            shmem_enabled,
            defrag: None,
            pmd_size: None,
            sizes: Vec::new(),
        }))
    }

    /// Whether private memory gets PMD-mapped huge pages even without `MADV_HUGEPAGE`.
    pub fn is_always(&self) -> bool {
        let own = self.pmd_size.and_then(|size| self.mode_of(size));
        match own {
            None | Some("inherit") => self.enabled.as_deref() == Some("always"),
            Some(own) => own == "always",
        }
    }

    /// Whether `enabled` gives huge pages to private memory marked with `MADV_HUGEPAGE`.
    pub fn serves_madvise(&self) -> bool {
        matches!(self.enabled.as_deref(), Some("always" | "madvise"))
    }

    /// Whether the PMD size has the mode `never`, which overrides the global `enabled`.
    pub fn is_pmd_size_never(&self) -> bool {
        self.pmd_size.and_then(|size| self.mode_of(size)) == Some("never")
    }

    fn mode_of(&self, size: PageSize) -> Option<&str> {
        let own = self.sizes.iter().find(|own| own.size == size)?;
        own.enabled.as_deref()
    }

    /// Whether `shmem_enabled` gives huge pages to shared memory marked with `MADV_HUGEPAGE`.
    pub fn serves_shared_madvise(&self) -> bool {
        matches!(
            self.shmem_enabled.as_deref(),
            Some("always" | "within_size" | "advise" | "force")
        )
    }
}

fn read_sizes(root: &Root) -> Result<Vec<ThpSize>, FileError> {
    let read = |size| {
        let enabled = choice(root, &size_dir(size).join("enabled"))?;
        Ok(ThpSize { size, enabled })
    };
    sizes_in(root, &dir())?.into_iter().map(read).collect()
}

fn choice(root: &Root, path: &KPath) -> Result<Option<String>, FileError> {
    let bytes = root.read_opt(path)?;
    bytes.map(|bytes| marked(path, &bytes)).transpose()
}

/// Returns the chosen word of a file such as `enabled`.
pub fn marked(path: &KPath, bytes: &[u8]) -> Result<String, FileError> {
    match chosen(bytes).and_then(|word| std::str::from_utf8(word).ok()) {
        Some(word) => Ok(word.to_owned()),
        None => Err(FileError::content(path, "no valid choice in brackets")),
    }
}
