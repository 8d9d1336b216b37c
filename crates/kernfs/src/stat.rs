//! `/proc/<pid>/stat`: the fields after the name, numbered as in proc(5).

use crate::number;

const STATE: usize = 3;
const PARENT: usize = 4;
const START: usize = 22;
const PROCESSOR: usize = 39;

/// The fields of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'a> {
    name: &'a [u8],
    fields: &'a [u8],
}

impl<'a> Stat<'a> {
    /// Parses the file. The name is in parentheses and may contain any byte.
    pub fn parse(text: &'a [u8]) -> Option<Stat<'a>> {
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let name = text[..end].iter().position(|byte| *byte == b'(');
        let name = name.map_or(&[][..], |begin| &text[begin + 1..end]);
        let fields = text[end + 1..].trim_ascii();
        Some(Stat { name, fields })
    }

    /// Returns the name, as in `/proc/<pid>/comm`.
    pub fn name(&self) -> &'a [u8] {
        self.name
    }

    /// Returns a field after the name. The first one has number 3.
    pub fn field(&self, number: usize) -> Option<&'a [u8]> {
        let mut fields = self.fields.split(|byte| *byte == b' ');
        fields.nth(number.checked_sub(STATE)?)
    }

    /// Returns a field as a number; `None` if it is negative or not a number.
    pub fn number(&self, number: usize) -> Option<u64> {
        number::parse_whole(self.field(number)?)
    }

    /// Whether the process is a zombie or dead.
    pub fn is_over(&self) -> Option<bool> {
        Some(matches!(self.field(STATE)?, b"Z" | b"X"))
    }

    /// Returns the parent or adoptive parent; 0 is the kernel or a process of an outer namespace.
    pub fn parent(&self) -> Option<u32> {
        u32::try_from(self.number(PARENT)?).ok()
    }

    /// Returns the start time in clock ticks since boot.
    pub fn start(&self) -> Option<u64> {
        self.number(START)
    }

    /// Returns the CPU that the thread last ran on.
    pub fn processor(&self) -> Option<u32> {
        u32::try_from(self.number(PROCESSOR)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_any_byte() {
        let text = b"7 (a) b (c) S 5 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2 3 4\n";
        let stat = Stat::parse(text).unwrap();
        let found = (stat.parent(), stat.start(), stat.is_over());
        assert_eq!(found, (Some(5), Some(12345), Some(false)));
        assert_eq!(stat.name(), b"a) b (c");
        assert_eq!((stat.number(8), stat.number(25)), (None, Some(4)));
        assert_eq!((stat.field(2), stat.field(26)), (None, None));
    }

    #[test]
    fn truncated_fields_are_none() {
        let stat = Stat::parse(b"7 (a) Z").unwrap();
        assert_eq!((stat.is_over(), stat.parent()), (Some(true), None));
        assert_eq!(Stat::parse(b"7 (a Z 5"), None);
        assert_eq!(Stat::parse(b"7 (a)").unwrap().parent(), None);
    }
}
