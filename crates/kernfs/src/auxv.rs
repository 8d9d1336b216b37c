//! `/proc/<pid>/auxv`: what the kernel told a program at its start.

/// `AT_PHDR`: where the program headers of the executable are.
pub const PHDR: u64 = 3;
/// `AT_PAGESZ`: the size of a base page.
pub const PAGE_SIZE: u64 = 6;

/// How a process writes its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// 8 bytes, else 4.
    pub wide: bool,
    /// The highest byte first.
    pub big_endian: bool,
}

impl Words {
    /// Those of this machine.
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

/// The pairs of key and value, up to key 0; what is cut off at the end is left out.
pub fn pairs(bytes: &[u8], words: Words) -> impl Iterator<Item = (u64, u64)> {
    let width = if words.wide { 8 } else { 4 };
    let pairs = bytes.chunks_exact(2 * width).map(move |pair| {
        let (key, value) = pair.split_at(width);
        (words.number(key), words.number(value))
    });
    pairs.take_while(|(key, _)| *key != 0)
}

/// The value of a key; `None` where it is not told.
pub fn value(bytes: &[u8], words: Words, key: u64) -> Option<u64> {
    let mut pairs = pairs(bytes, words);
    pairs.find_map(|(other, value)| (other == key).then_some(value))
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
}
