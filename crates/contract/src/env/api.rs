//! The variables of the C interface: sizes, mounts, kernel features.

use super::source::Source;
use crate::size;

/// The default page size of the C interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultSize {
    /// The kernel's default huge page size.
    #[default]
    Kernel,
    /// A size in bytes. If the machine has no such pages, the kernel's default.
    Size(u64),
    /// The value is invalid: there is no default size.
    None,
}

/// The kernel features that the C interface uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// `private_reservations`: private mappings reserve pages.
    pub private_reservations: bool,
    /// `noreserve_safe`: mappings may skip the reservation (MAP_NORESERVE).
    pub noreserve_safe: bool,
    /// `map_hugetlb`: huge pages without a file (MAP_HUGETLB).
    pub map_hugetlb: bool,
}

impl Features {
    /// All features. Every kernel that these libraries support has them.
    pub const ALL: Features = Features {
        private_reservations: true,
        noreserve_safe: true,
        map_hugetlb: true,
    };

    /// The names of the features, for messages.
    pub const NAMES: [&str; 3] = ["private_reservations", "noreserve_safe", "map_hugetlb"];

    /// Reads names and `no_` names, separated by commas. Returns `None` if a word is no
    /// prefix of a name. The second value is false if a word is only a prefix.
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
    let Some(value) = source.non_empty(name) else {
        return DefaultSize::Kernel;
    };
    let size = size::parse(value);
    if !size.is_ok_and(|size| !size.tail) {
        source.reject(name);
    }
    size.map_or(DefaultSize::None, |size| DefaultSize::Size(size.bytes))
}

pub(super) fn features(source: &mut Source<'_, '_>, name: &'static str) -> Features {
    let Some(value) = source.get(name) else {
        return Features::ALL;
    };
    let (features, whole) = Features::read(value).unwrap_or((Features::ALL, false));
    if !whole {
        source.reject(name);
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
        (settings, settings.rejected.names().collect())
    }

    #[test]
    fn default_sizes() {
        let of = |value: &'static str| {
            let (api, rejected) = read(&[(DEFAULT_PAGE_SIZE, value)]);
            (api.default_size, rejected.is_empty())
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
            let (api, rejected) = read(&[(FEATURES, value)]);
            (api.features.map_hugetlb, rejected.is_empty())
        };
        assert_eq!(of("no_map_hugetlb"), (false, true));
        assert_eq!(of("no_noreserve_safe,no_map_hugetlb,"), (false, true));
        assert_eq!(of("no_map_hugetlb,map_hugetlb"), (true, true));
        // libhugetlbfs accepts a prefix and ignores it.
        assert_eq!(of("no_map"), (true, false));
        // One unknown name invalidates the whole value.
        assert_eq!(of("no_map_hugetlb,frobnicate"), (true, false));
        assert_eq!(of("no_"), (true, false));
    }

    #[test]
    fn flags_are_read() {
        let (api, rejected) = read(&[(NO_RESERVE, "YES"), (NO_PREFAULT, ""), (PATH, "/a:/b")]);
        assert!(api.no_reserve && api.no_prefault && rejected.is_empty());
        assert_eq!(api.mounts, Some(&b"/a:/b"[..]));
        let (api, rejected) = read(&[(NO_RESERVE, "1")]);
        assert!(!api.no_reserve);
        assert_eq!(rejected, [NO_RESERVE]);
    }
}
