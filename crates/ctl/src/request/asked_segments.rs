//! The options for the segments of a program: text, data and bss.

use hugetools_contract::env::{Elfmap, Pages, Settings};

/// The options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segments {
    /// `--text`
    pub text: Option<Pages>,
    /// `--data`
    pub data: Option<Pages>,
    /// `--bss`
    pub bss: Option<Pages>,
    /// `--disable`
    pub off: bool,
    /// `--text-libs`
    pub libraries: bool,
    /// `--share-text`
    pub share_text: bool,
    /// `--no-reserve`
    pub no_reserve: bool,
    /// `--perf-map`
    pub perf_map: bool,
}

impl Segments {
    /// Returns the pages for data and bss, which are one segment. Those for data win.
    pub fn writable(&self) -> Option<Pages> {
        self.data.or(self.bss)
    }

    /// Whether data and bss are to get different pages.
    pub fn disagree(&self) -> bool {
        matches!((self.data, self.bss), (Some(data), Some(bss)) if data != bss)
    }

    /// Whether a class of segments is asked for.
    pub fn name_any(&self) -> bool {
        self.text.is_some() || self.writable().is_some() || self.libraries
    }

    /// Whether `HUGETLB_ELFMAP` is to be set.
    pub fn set_elfmap(&self) -> bool {
        self.off || self.name_any()
    }

    /// Returns the options merged with the environment.
    pub fn over(&self, inherited: &Settings<'_>) -> Elfmap {
        if self.off {
            return Elfmap {
                off: true,
                ..Elfmap::default()
            };
        }
        if !self.name_any() {
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
