//! What is asked for the segments of a program: text, data and bss.

use hugetools_contract::env::{Elfmap, Pages, Settings};

/// What the options ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segments {
    /// Code and read-only data.
    pub text: Option<Pages>,
    /// Initialised data.
    pub data: Option<Pages>,
    /// Data that starts as zero.
    pub bss: Option<Pages>,
    /// Nothing, whatever else asks for it.
    pub off: bool,
    /// The code of shared libraries, too.
    pub libraries: bool,
    /// One copy of the text for all processes.
    pub share_text: bool,
    /// No pages are promised beforehand.
    pub no_reserve: bool,
    /// perf is told where the symbols of a copy are.
    pub perf_map: bool,
}

impl Segments {
    /// Data and bss are one segment: the pages for both. Where both are asked
    /// for, those for data count.
    pub fn writable(&self) -> Option<Pages> {
        self.data.or(self.bss)
    }

    /// Whether data and bss were to get different pages.
    pub fn disagree(&self) -> bool {
        matches!((self.data, self.bss), (Some(data), Some(bss)) if data != bss)
    }

    /// Whether a class of segments is asked for.
    pub fn name_any(&self) -> bool {
        self.text.is_some() || self.writable().is_some() || self.libraries
    }

    /// Whether the variable for the classes is to be set.
    pub fn set_elfmap(&self) -> bool {
        self.off || self.name_any()
    }

    /// What counts in the end, together with what the environment asks for
    /// already.
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

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Pages = Pages::Size(2 << 20);

    fn composed(segments: Segments) -> String {
        segments.over(&Settings::default()).to_string()
    }

    #[test]
    fn the_value_as_the_classic_tool_composes_it() {
        let none = Segments::default();
        let text = Segments {
            text: Some(TWO),
            ..none
        };
        assert_eq!(composed(none), "");
        assert_eq!(composed(text), "R=2MB");
        let bss = Some(Pages::Default);
        assert_eq!(composed(Segments { bss, ..text }), "R=2MB:W");
        let data = Some(TWO);
        let both = Segments { data, bss, ..none };
        assert_eq!(composed(both), "W=2MB");
        assert!(both.disagree() && !text.disagree());
        let other = Segments {
            data: bss,
            bss: data,
            ..none
        };
        assert_eq!(composed(other), "W");
        assert_eq!(composed(Segments { off: true, ..both }), "no");
        let thp = Some(Pages::Thp);
        assert_eq!(composed(Segments { bss: thp, ..none }), "W=thp");
    }

    #[test]
    fn libraries_imply_the_program() {
        let libraries = Segments {
            libraries: true,
            ..Segments::default()
        };
        assert_eq!(composed(libraries), "R");
        let text = Some(Pages::Thp);
        assert_eq!(composed(Segments { text, ..libraries }), "R=thp");
    }

    #[test]
    fn what_is_set_already_counts_as_asked_for() {
        let inherited = Settings {
            elfmap: Elfmap {
                text: Some(TWO),
                ..Elfmap::default()
            },
            ..Settings::default()
        };
        let data = Segments {
            data: Some(Pages::Thp),
            ..Segments::default()
        };
        assert_eq!(data.over(&inherited).to_string(), "R=2MB:W=thp");
        assert_eq!(Segments::default().over(&inherited), inherited.elfmap);
        let mut off = inherited;
        off.elfmap = Elfmap {
            off: true,
            ..Elfmap::default()
        };
        assert_eq!(data.over(&off).to_string(), "W=thp");
    }
}
