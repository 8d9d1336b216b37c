//! hugectl's look at the program that it is to start: headers that were
//! changed at random.
#![expect(clippy::disallowed_methods, reason = "programs are files like others")]

use hugetools_ctl::layout::{Layout, Place};
use hugetools_elf::Elf;
use hugetools_model::PageSize;

use crate::engine::{fuzz, kept};

/// Small programs of this machine, whole, and one header alone.
fn corpus() -> Vec<Vec<u8>> {
    let names = ["/bin/true", "/bin/echo", "/usr/bin/env", "/bin/sleep"];
    let mut corpus: Vec<Vec<u8>> = names
        .iter()
        .filter_map(|name| std::fs::read(name).ok())
        .filter(|bytes| bytes.len() < 1 << 16)
        .collect();
    corpus.push(header());
    corpus.extend(kept("programs"));
    corpus
}

/// A program of two large segments, without anything in them.
fn header() -> Vec<u8> {
    let mut bytes = vec![0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    let mut put = |at: usize, value: u64, len: usize| {
        bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    };
    for (at, value, len) in [
        (16, 2, 2),
        (18, 62, 2),
        (20, 1, 4),
        (32, 64, 8),
        (52, 64, 2),
    ] {
        put(at, value, len);
    }
    put(54, 56, 2);
    put(56, 2, 2);
    for (flags, address, len) in [
        (5u64, 0x40_0000u64, 0x70_0000u64),
        (6, 0x100_0000, 0x90_0000),
    ] {
        let words = [
            flags << 32 | 1,
            address - 0x40_0000,
            address,
            address,
            len,
            len,
            0x1000,
        ];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes
}

#[test]
fn programs() {
    let size = PageSize::new(2 << 20).unwrap();
    fuzz(
        "programs",
        corpus(),
        &["\x7fELF", "\0\0\0\0\0\0\0\0"],
        |bytes| {
            let Ok(elf) = Elf::read(bytes) else {
                return None;
            };
            let layout = Layout::of(&elf);
            let (text, data) = (layout.text(size), layout.data(size));
            assert!(text.inner <= text.all && data.inner <= data.all);
            let places = [Place::Program, Place::Library];
            let own = places.map(|place| layout.own_pages(size, place));
            for parts in own.iter().flatten() {
                let whole = |at: u64| at % size.get() == 0;
                assert!(
                    parts
                        .iter()
                        .all(|part| part.start < part.end && whole(part.start) && whole(part.end))
                );
                assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start));
            }
            let kinds = own.map(|own| {
                own.map(|parts| parts.len())
                    .map_err(|why| format!("{why:?}"))
            });
            Some((
                kinds,
                text.exact,
                layout.marked,
                text.inner.get() > 0,
                data.inner.get() > 0,
            ))
        },
    );
}
