//! Memory moved to the nodes of the threads that touch it, in a process's report.

use core::fmt::{self, Write};

use super::format::Tenths;

/// Bytes touched after a request to move memory to the node of the next touching thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextTouch {
    /// All of it.
    pub touched: u64,
    /// Bytes that were on the touching thread's node before.
    pub local_before: u64,
    /// Bytes that were on the touching thread's node afterwards.
    pub local_after: u64,
}

impl NextTouch {
    fn moved(&self) -> u64 {
        self.local_after.saturating_sub(self.local_before)
    }

    /// Writes the field of a JSON object.
    pub(super) fn write_json(&self, out: &mut impl Write) -> fmt::Result {
        let NextTouch {
            touched,
            local_before,
            local_after,
        } = self;
        let moved = self.moved();
        write!(
            out,
            ",\"next_touch\":{{\"moved\":{moved},\"touched\":{touched},\
             \"local_before\":{local_before},\"local_after\":{local_after}}}"
        )
    }

    /// Writes one line of text.
    pub(super) fn write_line(&self, out: &mut impl Write) -> fmt::Result {
        let share = |bytes| Tenths::of(bytes, self.touched);
        let (before, after) = (share(self.local_before), share(self.local_after));
        let moved = self.moved() / 1024;
        writeln!(
            out,
            "next touch: {moved} kB moved; {before}% local before, {after}% after"
        )
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::String;

    #[test]
    fn one_line_and_one_object() {
        let moved = NextTouch {
            touched: 8 << 20,
            local_before: 2 << 20,
            local_after: 8 << 20,
        };
        let mut out = String::new();
        moved.write_line(&mut out).unwrap();
        moved.write_json(&mut out).unwrap();
        assert_eq!(
            out,
            "next touch: 6144 kB moved; 25.0% local before, 100.0% after\n\
             ,\"next_touch\":{\"moved\":6291456,\"touched\":8388608,\
             \"local_before\":2097152,\"local_after\":8388608}"
        );
    }
}
