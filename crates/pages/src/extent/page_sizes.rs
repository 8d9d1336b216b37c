//! Which pages an extent may have.

use core::sync::atomic::AtomicBool;

use hugetools_contract::env::Pages;

use crate::extent::unit::State;
use crate::kernel::{facts, hugetlb_pool};
use crate::rt::message::{Level, say_once};
use hugetools_kernfs::size_name::SizeName;

/// The layout of an extent, decided from what was asked for and what this
/// machine offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The size of a unit in bytes: that of its huge pages.
    pub unit: usize,
    /// Whether units may be hugetlb pages of the unit's size.
    pub huge: bool,
    /// The size of larger hugetlb pages to be tried first; 0 for none.
    pub big: usize,
}

/// Units are not larger than this, so that a small heap stays small.
pub const LARGEST_UNIT: usize = 32 << 20;

/// The unit where the machine's huge pages are larger than that.
const PLAIN_UNIT: usize = 2 << 20;

impl Layout {
    /// The layout for `pages`.
    pub fn of(pages: Pages) -> Layout {
        let default = facts::default_huge_size();
        Layout::choose(asked_size(pages), default, facts::thp_size())
    }

    /// The layout of memory that is on pages of one size.
    pub fn of_pages(size: usize) -> Layout {
        Layout::choose(Some(size), None, PLAIN_UNIT)
    }

    /// What a unit on hugetlb pages is, where they have one size.
    pub fn page_state(&self) -> State {
        match self.huge {
            true => State::Huge,
            false => State::Big,
        }
    }

    /// The decision itself.
    fn choose(asked: Option<usize>, default: Option<usize>, thp: usize) -> Layout {
        let fits = |size: &usize| *size <= LARGEST_UNIT;
        let thp_unit = Some(thp).filter(fits).unwrap_or(PLAIN_UNIT);
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

/// The size of the pool pages that are asked for. A size that the machine has
/// not is said and replaced by the default one.
pub fn asked_size(pages: Pages) -> Option<usize> {
    match pages {
        Pages::Thp => None,
        Pages::Default => facts::default_huge_size(),
        Pages::Size(size) => match usize::try_from(size).ok() {
            Some(size) if hugetlb_pool::is_offered(size) => Some(size),
            _ => {
                say_unknown_size(size);
                facts::default_huge_size()
            }
        },
    }
}

fn say_unknown_size(size: u64) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let size = SizeName(usize::try_from(size).unwrap_or(usize::MAX));
    say_once(
        &SAID,
        Level::Warning,
        format_args!("this machine has no huge pages of {size}; the default size is used"),
    );
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
