//! `/proc/<pid>/auxv`: the auxiliary vector of a program.

/// `AT_PHDR`: address of the executable's program headers.
pub const PHDR: u64 = 3;
/// `AT_PAGESZ`: size of a base page in bytes.
pub const PAGE_SIZE: u64 = 6;
/// `AT_SECURE`: whether exec raised the program's privileges (setuid, setgid,
/// capabilities). Its loader then ignores `LD_PRELOAD`.
pub const SECURE: u64 = 23;

/// The word format of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Words of 8 bytes instead of 4.
    pub wide: bool,
    /// Most significant byte first.
    pub big_endian: bool,
}

impl Words {
    /// The word format of this machine.
    pub const NATIVE: Words = Words {
        wide: size_of::<usize>() == 8,
        big_endian: cfg!(target_endian = "big"),
    };

    fn number(self, word: &[u8]) -> u64 {
        let join = |n: u64, byte: &u8| (n << 8) | u64::from(*byte);
        match self.big_endian {
            true => word.iter().fold(0, join),
            false => word.iter().rev().fold(0, join),
        }
    }
}

/// Returns the pairs of key and value before key 0 (`AT_NULL`), without an incomplete last pair.
pub fn pairs(bytes: &[u8], words: Words) -> impl Iterator<Item = (u64, u64)> {
    let width = if words.wide { 8 } else { 4 };
    let pairs = bytes.chunks_exact(2 * width).map(move |pair| {
        let (key, value) = pair.split_at(width);
        (words.number(key), words.number(value))
    });
    pairs.take_while(|(key, _)| *key != 0)
}

/// Returns the value of a key; `None` if it is missing.
pub fn value(bytes: &[u8], words: Words, key: u64) -> Option<u64> {
    let mut pairs = pairs(bytes, words);
    pairs.find_map(|(other, value)| (other == key).then_some(value))
}

/// Whether exec raised the program's privileges; `None` if `AT_SECURE` or the page size is missing.
/// Tries both word sizes in this machine's byte order: only the right one has a valid page size.
pub fn is_secure(bytes: &[u8]) -> Option<bool> {
    let widths = [true, false].map(|wide| Words {
        wide,
        ..Words::NATIVE
    });
    let has_page = |words: &Words| {
        let size = value(bytes, *words, PAGE_SIZE);
        size.is_some_and(|size| size.is_power_of_two())
    };
    let words = widths.into_iter().find(has_page)?;
    value(bytes, words, SECURE).map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn words_of_either_width_and_order() {
        let little = Words {
            wide: true,
            big_endian: false,
        };
        let words = [6_u64, 4096, 3, 0x5555_0040, 0, 0, 6, 1];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(value(&bytes, little, PHDR), Some(0x5555_0040));
        assert_eq!(value(&bytes, little, PAGE_SIZE), Some(4096));
        assert_eq!(value(&bytes[..31], little, PHDR), None);
        let big = Words {
            wide: false,
            big_endian: true,
        };
        let bytes = [0, 0, 0, 6, 0, 1, 0, 0, 0, 0, 0, 3];
        assert_eq!(value(&bytes, big, PAGE_SIZE), Some(65536));
        assert_eq!(value(&bytes, big, PHDR), None);
    }

    #[test]
    fn secure_of_either_width() {
        let join = |pairs: &[[u64; 2]], wide: bool| -> Vec<u8> {
            let bytes = |number: &u64| match wide {
                true => number.to_ne_bytes().to_vec(),
                false => u32::try_from(*number).unwrap().to_ne_bytes().to_vec(),
            };
            pairs.iter().flatten().flat_map(bytes).collect()
        };
        for wide in [true, false] {
            let secure = |pairs: &[[u64; 2]]| is_secure(&join(pairs, wide));
            assert_eq!(secure(&[[33, 7], [6, 4096], [23, 0], [0, 0]]), Some(false));
            assert_eq!(secure(&[[33, 7], [6, 65536], [23, 1], [0, 0]]), Some(true));
            assert_eq!(secure(&[[6, 4096], [0, 0], [23, 1]]), None);
            assert_eq!(secure(&[[23, 1], [0, 0]]), None);
        }
        assert_eq!(is_secure(b""), None);
    }
}
