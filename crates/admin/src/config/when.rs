//! Evaluates `when`: whether a configuration file, pool or mount applies to this machine.

use hugetools_model::Machine;
use hugetools_model::units::size::Quantity;

use super::source::Source;
use super::table::When;

/// The machine that conditions are compared with.
pub(super) struct HostFacts<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) machine: &'a Machine,
}

impl HostFacts<'_> {
    /// Whether all conditions hold.
    pub(super) fn matches(&self, when: Option<&When>, source: &Source) -> Result<bool, String> {
        let Some(when) = when else { return Ok(true) };
        let mut holds = true;
        if let Some(pattern) = &when.host {
            let names = pattern.split(' ').filter(|name| !name.is_empty());
            let is_host = |name| self.host.is_some_and(|host| matches(name, host));
            holds &= names.clone().any(is_host);
        }
        if let Some(memory) = &when.memory {
            let bytes = |text: &str| Some(text.parse::<Quantity>().ok()?.bytes().ok()?.get());
            let total = installed_memory(self.machine.meminfo.total.get());
            let compared = compare(memory.get_ref(), total, bytes);
            holds &= compared.ok_or_else(|| {
                let key = source.key("memory", &memory.span());
                format!("{key}: not a comparison such as \">=64GB\"")
            })?;
        }
        if let Some(nodes) = &when.nodes {
            let count = self.machine.nodes.len() as u64;
            let compared = compare(&nodes.get_ref().0, count, |text| text.parse().ok());
            holds &= compared.ok_or_else(|| {
                let key = source.key("nodes", &nodes.span());
                format!("{key}: not a number or a comparison such as \">=2\"")
            })?;
        }
        Ok(holds)
    }
}

/// Checks a value against a comparison such as `>=64GB`; `None` if that is invalid.
fn compare(text: &str, actual: u64, parse: impl Fn(&str) -> Option<u64>) -> Option<bool> {
    type Compare = fn(&u64, &u64) -> bool;
    let operators: [(&str, Compare); 5] = [
        (">=", u64::ge),
        ("<=", u64::le),
        (">", u64::gt),
        ("<", u64::lt),
        ("", u64::eq),
    ];
    let (compare, value) = operators
        .into_iter()
        .find_map(|(sign, compare)| Some((compare, text.trim().strip_prefix(sign)?)))?;
    Some(compare(&actual, &parse(value.trim())?))
}

/// Estimates the installed memory. `MemTotal` excludes memory that the kernel reserved: 62 GB of
/// 64 GB. Rounds up to a multiple of 1/8 of the largest power of two up to `total`.
fn installed_memory(total: u64) -> u64 {
    let step = 1 << total.checked_ilog2().unwrap_or(0).saturating_sub(3);
    total.checked_next_multiple_of(step).unwrap_or(total)
}

/// Whether a name matches a pattern, where `*` is any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_comparisons() {
        assert!(matches("db*", "db12") && matches("*", "") && matches("a*c*e", "abcde"));
        assert!(!matches("db*", "web") && !matches("db", "db1"));
        let number = |text: &str| text.parse().ok();
        assert_eq!(compare(">=2", 2, number), Some(true));
        assert_eq!(compare("< 2", 2, number), Some(false));
        assert_eq!(compare("8", 8, number), Some(true));
        assert_eq!(compare("=>8", 8, number), None);
    }

    #[test]
    fn installed_memory_is_a_usual_size() {
        // MemTotal in kB, installed memory in GB.
        for (kilobytes, gigabytes) in [
            (3_981_000, 4),
            (8_011_744, 8),
            (24_684_092, 24),
            (65_771_000, 64),
            (131_744_000, 128),
            (395_900_000, 384),
        ] {
            assert_eq!(
                installed_memory(kilobytes << 10),
                gigabytes << 30,
                "{kilobytes}"
            );
        }
    }
}
