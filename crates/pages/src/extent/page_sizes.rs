//! The page sizes of an extent.

use core::sync::atomic::AtomicBool;

use hugetools_contract::env::Pages;

use crate::extent::unit::State;
use crate::kernel::{facts, hugetlb_pool};
use crate::rt::message::{Level, say_once};
use hugetools_kernfs::size_name::SizeName;

/// The requested page sizes that the machine supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a unit: the huge page size, or the smaller of two.
    pub unit: usize,
    /// Whether units may be hugetlb pages.
    pub huge: bool,
    /// Bytes of a larger hugetlb page to try first; 0 for none.
    pub big: usize,
}

/// Maximum bytes of a unit: larger ones would waste memory in a small heap.
pub const LARGEST_UNIT: usize = 32 << 20;

/// Bytes of a unit if all huge page sizes exceed [`LARGEST_UNIT`].
const DEFAULT_UNIT: usize = 2 << 20;

impl Layout {
    /// The layout for a setting.
    pub fn of(pages: Pages) -> Layout {
        let default = facts::default_huge_size();
        Layout::choose(asked_size(pages), default, facts::thp_size())
    }

    /// The layout of memory on pages of one size.
    pub fn of_pages(size: usize) -> Layout {
        Layout::choose(Some(size), None, DEFAULT_UNIT)
    }

    /// State of a unit on hugetlb pages.
    pub fn page_state(&self) -> State {
        match self.huge {
            true => State::Huge,
            false => State::Big,
        }
    }

    fn choose(asked: Option<usize>, default: Option<usize>, thp: usize) -> Layout {
        let fits = |size: &usize| *size <= LARGEST_UNIT;
        let thp_unit = Some(thp).filter(fits).unwrap_or(DEFAULT_UNIT);
        match asked {
            None => Layout {
                unit: thp_unit,
                huge: false,
                big: 0,
            },
            Some(size) if size <= LARGEST_UNIT => Layout {
                unit: size,
                huge: true,
                big: 0,
            },
            Some(size) => {
                let small = default.filter(fits);
                let unit = small.unwrap_or(thp_unit);
                Layout {
                    unit,
                    huge: small.is_some(),
                    big: size,
                }
            }
        }
    }
}

/// Returns the size of the requested pool pages; for an unsupported size warns and returns the
/// default.
pub fn asked_size(pages: Pages) -> Option<usize> {
    static WARNED: AtomicBool = AtomicBool::new(false);
    match pages {
        Pages::Thp => None,
        Pages::Default => facts::default_huge_size(),
        Pages::Size(size) => match usize::try_from(size).ok() {
            Some(size) if hugetlb_pool::is_offered(size) => Some(size),
            _ => {
                let size = SizeName(usize::try_from(size).unwrap_or(usize::MAX));
                say_once(
                    &WARNED,
                    Level::Warning,
                    format_args!(
                        "the kernel offers no huge pages of {size}, or sysfs is unreadable; the \
                         default size is used"
                    ),
                );
                facts::default_huge_size()
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    const GIB: usize = 1 << 30;

    #[test]
    fn layouts_of_machines() {
        let layout = |unit, huge, big| Layout { unit, huge, big };
        let x86 = |asked| Layout::choose(asked, Some(2 * MIB), 2 * MIB);
        assert_eq!(x86(Some(2 * MIB)), layout(2 * MIB, true, 0));
        assert_eq!(x86(Some(GIB)), layout(2 * MIB, true, GIB));
        assert_eq!(x86(None), layout(2 * MIB, false, 0));
        let arm_64k = |asked| Layout::choose(asked, Some(512 * MIB), 512 * MIB);
        assert_eq!(arm_64k(Some(512 * MIB)), layout(2 * MIB, false, 512 * MIB));
        assert_eq!(arm_64k(Some(2 * MIB)), layout(2 * MIB, true, 0));
        let power8 = Layout::choose(Some(16 * MIB), Some(16 * MIB), 16 * MIB);
        assert_eq!(power8, layout(16 * MIB, true, 0));
        let arm = Layout::choose(Some(64 * KIB), Some(2 * MIB), 2 * MIB);
        assert_eq!(arm, layout(64 * KIB, true, 0));
        assert_eq!(
            Layout::choose(None, None, 2 * MIB),
            layout(2 * MIB, false, 0)
        );
    }
}
