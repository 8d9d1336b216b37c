//! The variables of the C interface.

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

pub(super) fn default_size(source: &mut Source<'_, '_>, name: &'static str) -> DefaultSize {
    let Some(value) = source.non_empty(name) else {
        return DefaultSize::Kernel;
    };
    let size = size::parse(value);
    if !size.is_ok_and(|size| !size.has_trailing_text) {
        source.reject(name);
    }
    size.map_or(DefaultSize::None, |size| DefaultSize::Size(size.bytes))
}

/// Whether `map_hugetlb` is on. The last word counts; an unknown word rejects the value.
pub(super) fn map_hugetlb(source: &mut Source<'_, '_>, name: &'static str) -> bool {
    const NO_EFFECT: [&[u8]; 3] = [b"", b"private_reservations", b"noreserve_safe"];
    let mut is_on = true;
    let value = source.get(name).unwrap_or_default();
    for word in value.split(|byte| *byte == b',') {
        let (feature, on) = match word.strip_prefix(b"no_") {
            Some(feature) if !feature.is_empty() => (feature, false),
            _ => (word, true),
        };
        match feature {
            b"map_hugetlb" => is_on = on,
            feature if NO_EFFECT.contains(&feature) => {}
            _ => {
                source.reject(name);
                return true;
            }
        }
    }
    is_on
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::super::table::{DEFAULT_PAGE_SIZE, FEATURES, Settings};
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
            (api.map_hugetlb, rejected.is_empty())
        };
        assert_eq!(of("no_map_hugetlb"), (false, true));
        assert_eq!(of("no_noreserve_safe,no_map_hugetlb,"), (false, true));
        assert_eq!(of("no_map_hugetlb,map_hugetlb"), (true, true));
        assert_eq!(of("no_map"), (true, false));
        // One unknown name invalidates the whole value.
        assert_eq!(of("no_map_hugetlb,frobnicate"), (true, false));
        assert_eq!(of("no_"), (true, false));
    }
}
