//! Parses lines that the programs of `tests/programs` print about their own smaps.

pub(crate) mod segment_pages;

/// A line such as `small resident_kb=1 thp_kb=2 hugetlb_kb=3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeapPages {
    pub(crate) resident: u64,
    pub(crate) thp: u64,
    pub(crate) hugetlb: u64,
}

impl HeapPages {
    /// Returns the line that begins with `what`.
    pub(crate) fn find(output: &str, what: &str) -> HeapPages {
        let line = find_line(output, what);
        HeapPages {
            resident: field(line, "resident_kb"),
            thp: field(line, "thp_kb"),
            hugetlb: field(line, "hugetlb_kb"),
        }
    }

    /// Returns `huge` in percent of the resident memory.
    pub(crate) fn share(self, huge: u64) -> u64 {
        huge * 100 / self.resident.max(1)
    }
}

fn find_line<'a>(output: &'a str, what: &str) -> &'a str {
    let begins = |line: &&str| line.split(' ').next() == Some(what);
    let line = output.lines().find(begins);
    line.unwrap_or_else(|| panic!("no line {what:?} in {output:?}"))
}

fn field(line: &str, name: &str) -> u64 {
    let mut words = line.split(' ');
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap().parse().unwrap()
}
