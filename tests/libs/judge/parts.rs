//! What programs with `segments.h` print of their segments: their own reading
//! of `/proc/self/smaps`, which shares no code with ours.

/// A line such as `text whole_kb=1 pool_kb=2 thp_kb=3 file_kb=4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// What lies in whole huge pages.
    pub(crate) whole: u64,
    pub(crate) pool: u64,
    pub(crate) thp: u64,
    pub(crate) file: u64,
}

impl Part {
    /// The line of text, data or bss.
    pub(crate) fn find(output: &str, segment: &str) -> Part {
        let line = output
            .lines()
            .find(|line| line.split(' ').next() == Some(segment))
            .unwrap_or_else(|| panic!("no line {segment:?} in {output:?}"));
        let field = |name: &str| -> u64 {
            let word = line.split(' ').find_map(|word| word.strip_prefix(name));
            word.and_then(|value| value.strip_prefix("_kb="))
                .unwrap()
                .parse()
                .unwrap()
        };
        Part {
            whole: field("whole"),
            pool: field("pool"),
            thp: field("thp"),
            file: field("file"),
        }
    }

    /// All that is huge.
    pub(crate) fn huge(self) -> u64 {
        self.pool + self.thp + self.file
    }

    /// Whether 99 hundredths of what can be huge is.
    pub(crate) fn is_huge(self) -> bool {
        self.huge() * 100 >= self.whole * 99
    }
}
