//! The process that may copy text without sharing the copy.
//!
//! A private copy takes memory in each process, while all processes share the file's own
//! pages. So only the program that hugectl itself starts may make one, not its helpers or
//! a program behind a wrapper.

/// The process that may make a private copy of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextCopy<'a> {
    /// The process that hugectl becomes.
    pub pid: u32,
    /// The executable of this process.
    pub program: &'a [u8],
}

impl<'a> TextCopy<'a> {
    /// Reads `PID:PATH`.
    pub fn read(value: &'a [u8]) -> Option<TextCopy<'a>> {
        let colon = value.iter().position(|byte| *byte == b':')?;
        let (pid, program) = (value.get(..colon)?, value.get(colon + 1..)?);
        let pid = super::value::number(pid)?;
        (!program.is_empty()).then_some(TextCopy { pid, program })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_and_a_program() {
        let program = b"/opt/a:b";
        assert_eq!(
            TextCopy::read(b"12:/opt/a:b"),
            Some(TextCopy { pid: 12, program })
        );
        for wrong in [&b""[..], b"12", b"12:", b":/a", b"x:/a"] {
            assert_eq!(TextCopy::read(wrong), None);
        }
    }
}
