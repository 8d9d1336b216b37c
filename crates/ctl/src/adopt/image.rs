//! Which program a process executes, as far as `/proc/<pid>/stat` tells.

use hugetools_model::Root;
use hugetools_model::process::{Pid, Stat};

/// A program that a process executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Image {
    /// Where its stack and its data are: other places for each program.
    places: [u64; 2],
    /// Whether the process has ended.
    is_over: bool,
}

impl Image {
    /// Reads it; `None` where there is no such process.
    pub(super) fn read(root: &Root, pid: Pid) -> Option<Image> {
        Image::parse(&root.read(&pid.path("stat")).ok()?)
    }

    fn parse(text: &[u8]) -> Option<Image> {
        let stat = Stat::parse(text)?;
        Some(Image {
            places: [stat.number(28)?, stat.number(45)?],
            is_over: stat.is_over()?,
        })
    }

    /// Whether it still is the same program: one that has ended is.
    pub(super) fn is_same(&self, other: &Image) -> bool {
        self.places == other.places || self.is_over || other.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(state: &str, stack: u64) -> Vec<u8> {
        let mut fields = vec!["0".to_owned(); 50];
        fields[0] = state.to_owned();
        fields[28 - 3] = stack.to_string();
        format!("7 (a) b (c) {}\n", fields.join(" ")).into_bytes()
    }

    #[test]
    fn a_process_and_its_images() {
        let parse = |text: &[u8]| Image::parse(text).unwrap();
        let one = parse(&stat("S", 4096));
        assert!(one.is_same(&parse(&stat("R", 4096))));
        assert!(!one.is_same(&parse(&stat("R", 8192))));
        assert!(one.is_same(&parse(&stat("Z", 0))));
        assert_eq!(Image::parse(b"7 (a) S 1 2"), None);
        assert_eq!(Image::parse(b""), None);
    }
}
