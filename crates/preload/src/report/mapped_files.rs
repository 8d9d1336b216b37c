//! What is text, data and bss in another process, by its mappings alone: its headers are
//! its own affair.

use hugetools_contract::segment::{Extent, Segment};
use hugetools_kernfs::smaps::{Record, records};

use crate::rt::scratch;

/// So many mappings are told apart; what follows counts as files.
const MOST: usize = 1024;

/// The parts of files of which code is mapped.
pub(super) fn find(smaps: &'static [u8]) -> &'static [Extent<'static>] {
    let Some(places) = scratch::values(MOST, Extent::EMPTY) else {
        return &[];
    };
    let mut known = Known { places, len: 0 };
    // Its file's mappings lie behind each other, as the loader has put them.
    let mut file: Option<&[u8]> = None;
    let mut data_ends = None;
    for record in records(smaps) {
        if !is_file(&record) {
            if record.name.is_empty() && record.writable && data_ends == Some(record.start) {
                known.put(&record, Segment::Bss, file);
            }
            data_ends = None;
            continue;
        }
        if file != Some(record.name) {
            file = is_executed(smaps, record.name).then_some(record.name);
        }
        data_ends = record.writable.then_some(record.end);
        let segment = match record.writable {
            true => Segment::Data,
            false => Segment::Text,
        };
        if file.is_some() {
            known.put(&record, segment, file);
        }
    }
    let (places, len): (&'static [Extent<'static>], usize) = (known.places, known.len);
    places.get(..len).unwrap_or_default()
}

struct Known {
    places: &'static mut [Extent<'static>],
    len: usize,
}

impl Known {
    fn put(&mut self, record: &Record<'_>, segment: Segment, object: Option<&'static [u8]>) {
        if let Some(place) = self.places.get_mut(self.len) {
            *place = Extent {
                start: record.start,
                end: record.end,
                segment,
                object,
            };
            self.len += 1;
        }
    }
}

/// Whether it is private and of a file, which pages of a pool need not be.
fn is_file(record: &Record<'_>) -> bool {
    let is_named = record.name.starts_with(b"/") && !record.name.starts_with(b"/anon_hugepage");
    record.inode != 0 && !record.shared && is_named
}

fn is_executed(smaps: &[u8], name: &[u8]) -> bool {
    records(smaps).any(|record| record.executable && record.name == name)
}
