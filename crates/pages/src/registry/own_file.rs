//! What of the program's segments comes from its file, although other pages stand there now:
//! who drops the contents of such a page finds those of the file again, and no zeros.
//!
//! No locks: it is noted before the program begins, and what the program has put something
//! else in the place of only grows.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::Elf64_Phdr;

/// So many segments are known. Linkers make two that are written to, and three that are not.
const PLACES: usize = 16;

/// So many parts that are the file's no more; with one more nothing is known any longer.
const HOLES: usize = 16;

struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
    /// The address at which the file would begin, were all of it mapped so.
    file_start: AtomicUsize,
    is_writable: AtomicBool,
}

static PARTS: [Place; PLACES] = [const {
    Place {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        file_start: AtomicUsize::new(0),
        is_writable: AtomicBool::new(false),
    }
}; PLACES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// First addresses, and those behind the last.
static GONE: [[AtomicUsize; 2]; HOLES] =
    [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; HOLES];
static GONE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Where the program's headers are in memory, and how many, by which its file is known.
static HEADERS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// A part that comes from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its addresses.
    pub range: Range<usize>,
    /// The address at which the file would begin, were all of it mapped so.
    pub file_start: usize,
    /// Whether the program writes there.
    pub is_writable: bool,
}

/// Notes one, of the program with these headers, as long as there is a place. To be called
/// before the program begins.
pub fn note(part: &Part, headers: &[Elf64_Phdr]) {
    let at = COUNT.load(Ordering::Relaxed);
    let Some(place) = PARTS.get(at) else {
        return;
    };
    HEADERS[0].store(headers.as_ptr() as usize, Ordering::Relaxed);
    HEADERS[1].store(headers.len(), Ordering::Relaxed);
    place.start.store(part.range.start, Ordering::Relaxed);
    place.end.store(part.range.end, Ordering::Relaxed);
    place.file_start.store(part.file_start, Ordering::Relaxed);
    place.is_writable.store(part.is_writable, Ordering::Relaxed);
    COUNT.store(at + 1, Ordering::Release);
}

/// The program's headers, as bytes, and how many they are.
pub fn headers() -> (&'static [u8], usize) {
    let [at, count] = [0, 1].map(|word: usize| HEADERS[word].load(Ordering::Relaxed));
    if at == 0 {
        return (&[], 0);
    }
    #[expect(unsafe_code, reason = "looks at the program's headers as bytes")]
    // SAFETY: noted from a slice of the program's, which is never unloaded.
    let bytes =
        unsafe { core::slice::from_raw_parts(at as *const u8, count * size_of::<Elf64_Phdr>()) };
    (bytes, count)
}

fn parts() -> impl Iterator<Item = Part> {
    let known = PARTS.iter().take(COUNT.load(Ordering::Acquire));
    known.map(|place| Part {
        range: place.start.load(Ordering::Relaxed)..place.end.load(Ordering::Relaxed),
        file_start: place.file_start.load(Ordering::Relaxed),
        is_writable: place.is_writable.load(Ordering::Relaxed),
    })
}

fn holes() -> impl Iterator<Item = Range<usize>> {
    let known = GONE.iter().take(GONE_COUNT.load(Ordering::Acquire));
    known.map(|[start, end]| start.load(Ordering::Acquire)..end.load(Ordering::Relaxed))
}

/// Whether a range may hold any.
pub fn meets(range: &Range<usize>) -> bool {
    parts().any(|part| part.range.start < range.end && range.start < part.range.end)
}

/// The first one in a range.
pub fn first(within: &Range<usize>) -> Option<Part> {
    let inside = parts().filter_map(|part| {
        let range = left(part.range.start.max(within.start)..part.range.end.min(within.end));
        (!range.is_empty()).then_some(Part { range, ..part })
    });
    inside.min_by_key(|part| part.range.start)
}

/// The first piece of a range that is not gone.
fn left(range: Range<usize>) -> Range<usize> {
    let mut start = range.start;
    while let Some(hole) = holes().find(|hole| hole.contains(&start)) {
        start = hole.end;
    }
    let next = holes().map(|hole| hole.start).filter(|hole| *hole > start);
    start..next.min().unwrap_or(range.end).min(range.end)
}

/// Notes that something else is in a range now, or nothing.
pub fn cut(range: &Range<usize>) {
    if !meets(range) {
        return;
    }
    match GONE.get(GONE_COUNT.fetch_add(1, Ordering::AcqRel)) {
        Some([start, end]) => {
            end.store(range.end, Ordering::Relaxed);
            start.store(range.start, Ordering::Release);
        }
        None => COUNT.store(0, Ordering::Release),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: there is one table.
    #[test]
    fn parts_are_found_until_they_are_gone() {
        let part = Part {
            range: 0x40_0000..0x60_0000,
            file_start: 0x3f_0000,
            is_writable: true,
        };
        assert!(!meets(&part.range) && first(&part.range).is_none());
        note(&part, &[]);
        assert_eq!(first(&(0..usize::MAX)), Some(part.clone()));
        assert_eq!(first(&(0..0x40_0000)), None);
        cut(&(0x70_0000..0x80_0000));
        cut(&(0x41_0000..0x42_0000));
        cut(&(0x42_0000..0x43_0000));
        let range = |from| first(&(from..usize::MAX)).map(|part| part.range);
        assert_eq!(range(0), Some(0x40_0000..0x41_0000));
        assert_eq!(range(0x41_8000), Some(0x43_0000..0x60_0000));
        for _ in 0..HOLES {
            cut(&(0x41_0000..0x42_0000));
        }
        assert!(!meets(&part.range), "more is gone than can be known");
    }
}
