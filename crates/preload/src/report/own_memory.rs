//! This process's memory, from `/proc/self/smaps` and `/proc/self/status`.

use hugetools_kernfs::keyed;
use hugetools_kernfs::smaps::{self, Record};
use hugetools_pages::rt::message::{Level, say};

use crate::rt::scratch;

/// The text of `/proc/self/smaps`.
pub(crate) struct Mappings(&'static [u8]);

impl Mappings {
    /// Reads it; reports a failure.
    pub(crate) fn read() -> Option<Mappings> {
        let text = scratch::read(c"/proc/self/smaps");
        if text.is_none() {
            say(
                Level::Warning,
                format_args!("no report: /proc/self/smaps cannot be read here"),
            );
        }
        text.map(Mappings)
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'static>> {
        smaps::records(self.0)
    }

    /// Returns the number of records, and how often the name changes from one to the next.
    pub(crate) fn count(&self) -> (usize, usize) {
        let (mut count, mut names) = (0, 0);
        let mut last: &[u8] = b"";
        for record in self.records() {
            count += 1;
            names += usize::from(record.name != last);
            last = record.name;
        }
        (count, names)
    }
}

/// Returns the peak of the process's resident bytes, without pool pages.
pub(crate) fn peak_resident() -> Option<u64> {
    let text = scratch::read(c"/proc/self/status")?;
    keyed::number(text, b"VmHWM:")?.checked_mul(1024)
}
