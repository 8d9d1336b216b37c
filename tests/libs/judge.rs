//! What the programs of `tests/programs` print of themselves: their own
//! reading of `/proc/self/smaps`, which shares no code with ours.

pub(crate) mod parts;

/// A line such as `small resident_kb=1 thp_kb=2 hugetlb_kb=3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) resident: u64,
    pub(crate) thp: u64,
    pub(crate) hugetlb: u64,
}

impl Judged {
    /// The line that begins with `what`.
    pub(crate) fn find(output: &str, what: &str) -> Judged {
        let line = output
            .lines()
            .find(|line| line.starts_with(what))
            .unwrap_or_else(|| panic!("no line {what:?} in {output:?}"));
        let field = |name: &str| {
            let word = line.split(' ').find_map(|word| word.strip_prefix(name));
            word.and_then(|value| value.strip_prefix('='))
                .unwrap()
                .parse()
                .unwrap()
        };
        Judged {
            resident: field("resident_kb"),
            thp: field("thp_kb"),
            hugetlb: field("hugetlb_kb"),
        }
    }

    /// Hundredths of what is resident that are `huge`.
    pub(crate) fn share(self, huge: u64) -> u64 {
        huge * 100 / self.resident.max(1)
    }
}
