//! Handmade ELF files: independent of the compiler, and with errors that no compiler makes.

/// Address size, byte order and architecture.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    wide: bool,
    big: bool,
    machine: u16,
}

pub(super) const X86_64: Kind = kind(true, false, 62);
pub(super) const I386: Kind = kind(false, false, 3);
pub(super) const S390X: Kind = kind(true, true, 22);
pub(super) const PPC: Kind = kind(false, true, 20);
pub(super) const AARCH64: Kind = kind(true, false, 183);
pub(super) const UNKNOWN: Kind = kind(true, false, 9999);

const fn kind(wide: bool, big: bool, machine: u16) -> Kind {
    Kind { wide, big, machine }
}

pub(super) const R: u64 = 4;
pub(super) const W: u64 = 2;
pub(super) const X: u64 = 1;

/// A segment: flags, offset, address, size in the file and in memory, alignment.
pub(super) type Load = [u64; 6];

/// The usual layout of a program: headers, text, read-only data, data with bss.
const USUAL: [Load; 4] = [
    [R, 0, 0, 0x600, 0x600, 0x1000],
    [R | X, 0x1000, 0x1000, 0x40_0000, 0x40_0000, 0x1000],
    [R, 0x40_1000, 0x40_1000, 0x100, 0x100, 0x1000],
    [R | W, 0x40_1df0, 0x40_2df0, 0x210, 0x90_0000, 0x1000],
];

const SMALL: [Load; 4] = [
    [R, 0, 0, 0x600, 0x600, 0x1000],
    [R | X, 0x1000, 0x1000, 0x800, 0x800, 0x1000],
    [R, 0x2000, 0x2000, 0x100, 0x100, 0x1000],
    [R | W, 0x2df0, 0x3df0, 0x210, 0x900, 0x1000],
];

/// A file to be written.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) kind: Kind,
    /// `e_type`: 1 object, 2 fixed addresses, 3 anywhere, 4 core.
    pub(super) file_type: u64,
    /// Position of the program header table, as stored in the header.
    pub(super) table: u64,
    pub(super) entry_size: Option<u64>,
    pub(super) count: Option<u64>,
    pub(super) loads: Vec<Load>,
    pub(super) len: usize,
}

impl Made {
    pub(super) fn usual(kind: Kind) -> Made {
        Made {
            kind,
            file_type: 3,
            table: 64,
            entry_size: None,
            count: None,
            loads: USUAL.to_vec(),
            len: 0x40_2000,
        }
    }

    /// Returns [`Made::usual`] with small segments.
    pub(super) fn small(kind: Kind) -> Made {
        Made {
            loads: SMALL.to_vec(),
            len: 0x4000,
            ..Made::usual(kind)
        }
    }

    /// Replaces the segments.
    pub(super) fn with(mut self, loads: &[Load]) -> Made {
        self.loads = loads.to_vec();
        self
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut file = vec![0; self.len.max(0x1000)];
        let wide = self.kind.wide;
        let ident = [
            0x7f,
            b'E',
            b'L',
            b'F',
            1 + u8::from(wide),
            1 + u8::from(self.kind.big),
            1,
        ];
        file[..7].copy_from_slice(&ident);
        let (word, size) = if wide { (8, 56) } else { (4, 32) };
        let head = [
            (self.file_type, 2),
            (self.kind.machine.into(), 2),
            (1, 4),
            (0x1000, word),
            (self.table, word),
            (0, word),
            (0, 4),
            (if wide { 64 } else { 52 }, 2),
            (self.entry_size.unwrap_or(size), 2),
            (self.count.unwrap_or(self.loads.len() as u64), 2),
        ];
        self.put(&mut file, 16, &head);
        for (n, load) in self.loads.iter().enumerate() {
            let at = 64 + n * if wide { 56 } else { 32 };
            self.put(&mut file, at, &header(load, wide));
        }
        file.truncate(self.len);
        file
    }

    fn put(&self, file: &mut [u8], mut at: usize, fields: &[(u64, usize)]) {
        for &(value, len) in fields {
            let mut bytes = value.to_le_bytes()[..len].to_vec();
            if self.kind.big {
                bytes.reverse();
            }
            file[at..at + len].copy_from_slice(&bytes);
            at += len;
        }
    }
}

/// Returns the fields of a program header with their sizes.
fn header(load: &Load, wide: bool) -> Vec<(u64, usize)> {
    let &[flags, offset, address, file_size, memory_size, align] = load;
    let word = if wide { 8 } else { 4 };
    let mut fields = vec![(1, 4)];
    fields.extend(wide.then_some((flags, 4)));
    let numbers = [offset, address, address, file_size, memory_size];
    fields.extend(numbers.map(|number| (number, word)));
    fields.extend((!wide).then_some((flags, 4)));
    fields.push((align, word));
    fields
}
