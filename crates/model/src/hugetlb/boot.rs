//! Huge pages on the kernel's command line: `default_hugepagesz=`, and
//! `hugepagesz=` with the `hugepages=` that follows it.

use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;
use crate::units::size::PageSize;

/// The pool parameters, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Boot {
    /// The parameters as written.
    pub words: Vec<String>,
    /// The requested pools.
    pub asked: Vec<PoolParameter>,
}

/// A request for pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolParameter {
    /// The page size. `None` if it is invalid, or if no size precedes the count: the kernel then
    /// uses the default one.
    pub size: Option<PageSize>,
    /// The number of pages, on all nodes together.
    pub pages: Option<u64>,
}

/// Reads the parameters; none if `/proc/cmdline` is missing.
pub fn read(root: &Root) -> Result<Boot, FileError> {
    let line = root.read_opt(&KPath::from("/proc/cmdline"))?;
    Ok(parse(&String::from_utf8_lossy(&line.unwrap_or_default())))
}

/// Parses a command line.
pub fn parse(line: &str) -> Boot {
    let mut boot = Boot::default();
    // Words after `--` belong to init.
    for word in line
        .split_ascii_whitespace()
        .take_while(|word| *word != "--")
    {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        match name {
            "hugepagesz" | "default_hugepagesz" => boot.asked.push(PoolParameter {
                size: value.parse().ok(),
                pages: None,
            }),
            "hugepages" => boot.count(value),
            _ => continue,
        }
        boot.words.push(word.to_owned());
    }
    boot
}

impl Boot {
    /// Adds a count to the size before it. The kernel ignores a second count.
    fn count(&mut self, value: &str) {
        let pages = Some(sum(value));
        match self.asked.last_mut() {
            Some(asked) if asked.size.is_some() => asked.pages = asked.pages.or(pages),
            Some(_) => {}
            None => self.asked.push(PoolParameter { size: None, pages }),
        }
    }
}

/// Returns the total of a count: `64`, or `0:64,3:10` (pages by node).
fn sum(value: &str) -> u64 {
    let of_node = |part: &str| {
        let number = part.split_once(':').map_or(part, |(_, number)| number);
        let end = number.find(|c: char| !c.is_ascii_digit());
        number[..end.unwrap_or(number.len())].parse().unwrap_or(0)
    };
    value.split(',').map(of_node).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Vec<(u64, Option<u64>)> {
        let asked = parse(line).asked.into_iter();
        let of =
            |asked: PoolParameter| (asked.size.map_or(0, |size| size.get() >> 20), asked.pages);
        asked.map(of).collect()
    }

    #[test]
    fn a_count_belongs_to_the_size_before_it() {
        assert_eq!(asked("ro quiet"), []);
        assert_eq!(asked("hugepages=3"), [(0, Some(3))]);
        assert_eq!(
            asked("hugepages=3 hugepagesz=1G"),
            [(0, Some(3)), (1024, None)]
        );
        assert_eq!(
            asked("default_hugepagesz=1G hugepagesz=2M hugepages=0:64,3:10 -- hugepages=9"),
            [(1024, None), (2, Some(74))]
        );
        assert_eq!(
            asked("hugepagesz=2M hugepages=3 hugepages=4"),
            [(2, Some(3))]
        );
    }

    #[test]
    fn pool_parameters_are_kept() {
        let boot = parse("ro hugepagesz=2M quiet hugepages=3\n");
        assert_eq!(boot.words, ["hugepagesz=2M", "hugepages=3"]);
    }
}
