//! The mappings of a process. They are read in pieces and parsed once: a process may
//! have tens of thousands, and the text of each is longer than all that is known of it.

use std::fs::File;
use std::io::{self, Read};

use hugetools_model::process::Pid;
use hugetools_model::root::error::Op;
use hugetools_model::smaps::{Record, records};
use hugetools_model::{FileError, Root};

/// How much text is looked at at once.
const PIECE: usize = 1 << 16;

/// All mappings.
#[derive(Debug, Clone, Default)]
pub(super) struct Mappings {
    /// Without their names and flags.
    all: Vec<Mapping>,
    names: Vec<u8>,
    /// The flags that there are: few mappings have some of their own.
    flags: Vec<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct Mapping {
    record: Record<'static>,
    /// Where its name begins and ends.
    name: (usize, usize),
    /// Which of the flags it has.
    flags: usize,
}

impl Mappings {
    /// Reads the mappings of a process; none of a part of the kernel.
    ///
    /// # Errors
    /// When there is no such process, or it may not be looked at.
    pub(super) fn read(root: &Root, pid: Pid) -> Result<Mappings, FileError> {
        let path = pid.path("smaps");
        let file = root.open(&path)?;
        Mappings::parse(file).map_err(|error| FileError::io(Op::Read, &path, &error))
    }

    fn parse(mut file: File) -> io::Result<Mappings> {
        let mut found = Mappings::default();
        let mut text = vec![0; PIECE];
        let mut filled = 0;
        loop {
            let is_end = !fill(&mut file, &mut text, &mut filled)?;
            let rest = found.take(&text[..filled], is_end);
            if is_end {
                return Ok(found);
            }
            // One record, or a part of one, that is longer than all this.
            if rest == 0 {
                text.resize(text.len() * 2, 0);
            }
            text.copy_within(rest..filled, 0);
            filled -= rest;
        }
    }

    /// Takes the records of a text but for the last, of which more may follow; where
    /// that begins.
    fn take(&mut self, text: &[u8], is_end: bool) -> usize {
        let mut all = records(text);
        loop {
            let begin = text.len() - all.rest().len();
            match all.next() {
                Some(record) if is_end || !all.rest().is_empty() => self.push(&record),
                _ => return begin,
            }
        }
    }

    fn push(&mut self, record: &Record<'_>) {
        // Those of one file follow one another.
        let last = self.all.last().map_or((0, 0), |last| last.name);
        let name = match self.names[last.0..last.1] == *record.name {
            true => last,
            false => {
                let begin = self.names.len();
                self.names.extend_from_slice(record.name);
                (begin, self.names.len())
            }
        };
        let same = |flags: &Vec<u8>| flags == record.flags;
        let flags = self.flags.iter().position(same).unwrap_or_else(|| {
            self.flags.push(record.flags.to_vec());
            self.flags.len() - 1
        });
        let record = Record {
            name: b"",
            flags: b"",
            ..*record
        };
        self.all.push(Mapping {
            record,
            name,
            flags,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// All of them, by address.
    pub(super) fn records(&self) -> impl Iterator<Item = Record<'_>> + Clone {
        self.all.iter().map(|mapping| Record {
            name: &self.names[mapping.name.0..mapping.name.1],
            flags: &self.flags[mapping.flags],
            ..mapping.record
        })
    }

    /// How many there are that differ in name from the one before.
    pub(super) fn names(&self) -> usize {
        let mut last = None;
        let is_new = |mapping: &&Mapping| last.replace(mapping.name) != Some(mapping.name);
        self.all.iter().filter(is_new).count()
    }
}

/// Reads until there is no more room; whether there may be more to read.
fn fill(file: &mut File, text: &mut [u8], filled: &mut usize) -> io::Result<bool> {
    while *filled < text.len() {
        match file.read(&mut text[*filled..]) {
            Ok(0) => return Ok(false),
            Ok(read) => *filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hugetools_model::smaps;
    use std::io::{Seek, Write};

    /// So many mappings, of which some names are longer than others.
    fn text(count: u64, long: usize) -> Vec<u8> {
        let record = |n: u64| {
            let name = match n % 3 {
                0 => String::new(),
                1 => format!("/lib/{}", n / 9),
                _ => "x".repeat(long),
            };
            let (start, end) = (n << 12, (n + 1) << 12);
            let flags = ["rd wr", "rd", "rd nh"][usize::try_from(n % 5 / 2).unwrap()];
            format!(
                "{start:08x}-{end:08x} rw-p 00000000 00:00 0  {name}\nRss:   {n} kB\nVmFlags: {flags}\n"
            )
        };
        (1..=count).map(record).collect::<String>().into_bytes()
    }

    fn read(text: &[u8]) -> Mappings {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        file.rewind().unwrap();
        Mappings::parse(file).unwrap()
    }

    #[test]
    fn in_pieces_they_are_the_same() {
        for (count, long) in [(0, 1), (1, 1), (3000, 30), (700, PIECE / 2), (5, 3 * PIECE)] {
            let text = text(count, long);
            let whole = smaps::records(&text);
            let pieces = read(&text);
            assert!(pieces.records().eq(whole), "{count} of {long}");
            assert_eq!(pieces.is_empty(), count == 0);
        }
    }

    #[test]
    fn names_are_counted_once_in_a_row() {
        assert_eq!(read(&text(3, 4)).names(), 3);
        let same = "1000-2000 rw-p 0 00:00 1 /a\n2000-3000 rw-p 0 00:00 1 /a\n";
        assert_eq!(read(same.as_bytes()).names(), 1);
    }
}
