//! The options for text, data and bss.

use hugetools_contract::env::{Elfmap, Pages, Settings};

/// The pages requested for each segment, and the options that apply to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Segments {
    pub(crate) text: Option<Pages>,
    pub(crate) data: Option<Pages>,
    pub(crate) bss: Option<Pages>,
    /// `--disable`
    pub(crate) off: bool,
    /// `--text-libs`
    pub(crate) libraries: bool,
    pub(crate) share_text: bool,
    pub(crate) no_reserve: bool,
    pub(crate) perf_map: bool,
}

impl Segments {
    /// Returns the pages for data and bss, which share one ELF segment. `--data` wins.
    pub(crate) fn writable(&self) -> Option<Pages> {
        self.data.or(self.bss)
    }

    pub(crate) fn data_differs_from_bss(&self) -> bool {
        matches!((self.data, self.bss), (Some(data), Some(bss)) if data != bss)
    }

    pub(crate) fn request_any(&self) -> bool {
        self.text.is_some() || self.writable().is_some() || self.libraries
    }

    /// Whether `HUGETLB_ELFMAP` must be set for the program.
    pub(crate) fn needs_elfmap(&self) -> bool {
        self.off || self.request_any()
    }

    /// Merges the options with the inherited environment; options win.
    pub(crate) fn elfmap_over(&self, inherited: &Settings<'_>) -> Elfmap {
        if self.off {
            return Elfmap {
                off: true,
                ..Elfmap::default()
            };
        }
        if !self.request_any() {
            return inherited.elfmap;
        }
        let text = self.text.or(inherited.elfmap.text);
        Elfmap {
            text: text.or(self.libraries.then_some(Pages::Default)),
            data: self.writable().or(inherited.elfmap.data),
            off: false,
        }
    }
}
