//! The variables of the C interface: sizes, mounts, features of the kernel.

use super::source::Source;
use crate::size;

/// The page size that the C interface calls the default one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultSize {
    /// The kernel's default huge page size.
    #[default]
    Kernel,
    /// A size in bytes; the kernel's default where the machine has no such
    /// pages.
    Size(u64),
    /// The value makes no sense: there is no default size.
    None,
}

/// Which features of the kernel are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// `private_reservations`: reservations of pages for private mappings.
    pub private_reservations: bool,
    /// `noreserve_safe`: mappings without a reservation.
    pub noreserve_safe: bool,
    /// `map_hugetlb`: huge pages without a file.
    pub map_hugetlb: bool,
}

impl Features {
    /// Every kernel that this library can run on has all of them.
    pub const ALL: Features = Features {
        private_reservations: true,
        noreserve_safe: true,
        map_hugetlb: true,
    };

    /// Their names, for messages.
    pub const NAMES: [&str; 3] = ["private_reservations", "noreserve_safe", "map_hugetlb"];

    /// Reads names and `no_` names, separated by commas. `None` for a name
    /// that does not even begin one; the second value is whether all of them
    /// were whole.
    fn read(value: &[u8]) -> Option<(Features, bool)> {
        let mut features = Features::ALL;
        let mut whole = true;
        let words = value.split(|byte| *byte == b',');
        for word in words.filter(|word| !word.is_empty()) {
            let (name, on) = match word.strip_prefix(b"no_") {
                Some(name) => (name, false),
                None => (word, true),
            };
            let begins = |known: &&str| !name.is_empty() && known.as_bytes().starts_with(name);
            let known = Features::NAMES.into_iter().find(begins)?;
            if known.as_bytes() == name {
                features.set(known, on);
            } else {
                whole = false;
            }
        }
        Some((features, whole))
    }

    fn set(&mut self, name: &str, on: bool) {
        match name {
            "private_reservations" => self.private_reservations = on,
            "noreserve_safe" => self.noreserve_safe = on,
            _ => self.map_hugetlb = on,
        }
    }
}

pub(super) fn default_size(source: &mut Source<'_, '_>, name: &'static str) -> DefaultSize {
    let Some(value) = source.some(name) else {
        return DefaultSize::Kernel;
    };
    let size = size::parse(value);
    if !size.is_ok_and(|size| !size.tail) {
        source.note(name);
    }
    size.map_or(DefaultSize::None, |size| DefaultSize::Size(size.bytes))
}

pub(super) fn features(source: &mut Source<'_, '_>, name: &'static str) -> Features {
    let Some(value) = source.get(name) else {
        return Features::ALL;
    };
    let (features, whole) = Features::read(value).unwrap_or((Features::ALL, false));
    if !whole {
        source.note(name);
    }
    features
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::table::{
        DEFAULT_PAGE_SIZE, FEATURES, NO_PREFAULT, NO_RESERVE, PATH, Settings,
    };
    use super::*;
    use std::vec::Vec;

    fn read(vars: &[(&str, &'static str)]) -> (Settings<'static>, Vec<&'static str>) {
        let get = |name: &str| {
            let found = vars.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.as_bytes())
        };
        let settings = Settings::read(get, b"x", 42);
        (settings, settings.odd.names().collect())
    }

    #[test]
    fn default_sizes() {
        let of = |value: &'static str| {
            let (api, odd) = read(&[(DEFAULT_PAGE_SIZE, value)]);
            (api.default_size, odd.is_empty())
        };
        assert_eq!(of(""), (DefaultSize::Kernel, true));
        assert_eq!(of("1G"), (DefaultSize::Size(1 << 30), true));
        assert_eq!(of("2mfoo"), (DefaultSize::Size(2 << 20), false));
        assert_eq!(of("big"), (DefaultSize::None, false));
        assert_eq!(read(&[]).0, Settings::NOTHING);
    }

    #[test]
    fn features_by_name() {
        let of = |value: &'static str| {
            let (api, odd) = read(&[(FEATURES, value)]);
            (api.features.map_hugetlb, odd.is_empty())
        };
        assert_eq!(of("no_map_hugetlb"), (false, true));
        assert_eq!(of("no_noreserve_safe,no_map_hugetlb,"), (false, true));
        assert_eq!(of("no_map_hugetlb,map_hugetlb"), (true, true));
        // The beginning of a name is allowed, and does nothing, as ever.
        assert_eq!(of("no_map"), (true, false));
        // One unknown name, and none counts.
        assert_eq!(of("no_map_hugetlb,frobnicate"), (true, false));
        assert_eq!(of("no_"), (true, false));
    }

    #[test]
    fn words() {
        let (api, odd) = read(&[(NO_RESERVE, "YES"), (NO_PREFAULT, ""), (PATH, "/a:/b")]);
        assert!(api.no_reserve && api.no_prefault && odd.is_empty());
        assert_eq!(api.mounts, Some(&b"/a:/b"[..]));
        let (api, odd) = read(&[(NO_RESERVE, "1")]);
        assert!(!api.no_reserve);
        assert_eq!(odd, [NO_RESERVE]);
    }
}
