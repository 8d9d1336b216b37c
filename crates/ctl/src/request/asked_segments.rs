//! The options for the segments of a program: text, data and bss.

use hugetools_contract::env::{Elfmap, Pages, Settings};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Segments {
    pub(crate) text: Option<Pages>,
    pub(crate) data: Option<Pages>,
    pub(crate) bss: Option<Pages>,
    /// `--disable`
    pub(crate) off: bool,
    pub(crate) libraries: bool,
    pub(crate) share_text: bool,
    pub(crate) no_reserve: bool,
    pub(crate) perf_map: bool,
}

impl Segments {
    /// Returns the pages for data and bss, which are one segment. `--data` wins.
    pub(crate) fn writable(&self) -> Option<Pages> {
        self.data.or(self.bss)
    }

    /// Whether different pages are requested for data and bss.
    pub(crate) fn disagree(&self) -> bool {
        matches!((self.data, self.bss), (Some(data), Some(bss)) if data != bss)
    }

    pub(crate) fn name_any(&self) -> bool {
        self.text.is_some() || self.writable().is_some() || self.libraries
    }

    pub(crate) fn set_elfmap(&self) -> bool {
        self.off || self.name_any()
    }

    /// Returns the options merged with the environment.
    pub(crate) fn over(&self, inherited: &Settings<'_>) -> Elfmap {
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
