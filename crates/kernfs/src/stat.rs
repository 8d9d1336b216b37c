//! `/proc/<pid>/stat`: the fields behind the name, by the numbers that proc(5) gives
//! them.

use crate::number;

/// The field of the state.
const STATE: usize = 3;
/// The field of the parent.
const PARENT: usize = 4;
/// The field of the start.
const START: usize = 22;

/// What the file says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat<'a> {
    name: &'a [u8],
    fields: &'a [u8],
}

impl<'a> Stat<'a> {
    /// Reads the file. The name stands in parentheses, and may hold any byte.
    pub fn parse(text: &'a [u8]) -> Option<Stat<'a>> {
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let name = text[..end].iter().position(|byte| *byte == b'(');
        let name = name.map_or(&[][..], |begin| &text[begin + 1..end]);
        let fields = text[end + 1..].trim_ascii();
        Some(Stat { name, fields })
    }

    /// The name by which it goes, as in `/proc/<pid>/comm`.
    pub fn name(&self) -> &'a [u8] {
        self.name
    }

    /// A field behind the name, of which the first is number 3.
    pub fn field(&self, number: usize) -> Option<&'a [u8]> {
        let mut fields = self.fields.split(|byte| *byte == b' ');
        fields.nth(number.checked_sub(STATE)?)
    }

    /// The number that a field is; `None` where it is none, as one below 0.
    pub fn number(&self, number: usize) -> Option<u64> {
        number::alone(self.field(number)?)
    }

    /// Whether it runs no more, and only waits to be taken note of.
    pub fn is_over(&self) -> Option<bool> {
        Some(matches!(self.field(STATE)?, b"Z" | b"X"))
    }

    /// Who started it, or has it since that one ended; 0 is the kernel itself.
    pub fn parent(&self) -> Option<u32> {
        u32::try_from(self.number(PARENT)?).ok()
    }

    /// When it was started, in ticks since the boot.
    pub fn start(&self) -> Option<u64> {
        self.number(START)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = b"7 (a) b (c) S 5 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2 3 4\n";
        let stat = Stat::parse(text).unwrap();
        let told = (stat.parent(), stat.start(), stat.is_over());
        assert_eq!(told, (Some(5), Some(12345), Some(false)));
        assert_eq!(stat.name(), b"a) b (c");
        assert_eq!((stat.number(8), stat.number(25)), (None, Some(4)));
        assert_eq!((stat.field(2), stat.field(26)), (None, None));
    }

    #[test]
    fn what_is_cut_off_is_not_known() {
        let stat = Stat::parse(b"7 (a) Z").unwrap();
        assert_eq!((stat.is_over(), stat.parent()), (Some(true), None));
        assert_eq!(Stat::parse(b"7 (a Z 5"), None);
        assert_eq!(Stat::parse(b"7 (a)").unwrap().parent(), None);
    }
}
