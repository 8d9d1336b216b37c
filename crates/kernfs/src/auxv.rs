//! `/proc/<pid>/auxv`: the auxiliary vector of a program.

/// `AT_PHDR`: address of the executable's program headers.
pub const PHDR: u64 = 3;
/// `AT_PAGESZ`: size of a base page in bytes.
pub const PAGE_SIZE: u64 = 6;
/// `AT_SECURE`: whether exec raised the program's privileges (setuid, setgid,
/// capabilities). Its loader then ignores `LD_PRELOAD`.
pub const SECURE: u64 = 23;

/// Returns the value of a key; `None` if it is missing. `width` is the length of a word in bytes, 4
/// or 8. Key 0 (`AT_NULL`) ends the vector.
pub fn value(bytes: &[u8], width: usize, key: u64) -> Option<u64> {
    let mut pairs = bytes.chunks_exact(2 * width).map(|pair| {
        let (key, value) = pair.split_at(width);
        (number(key), number(value))
    });
    let found = pairs.find(|(other, _)| *other == key || *other == 0)?;
    (found.0 == key).then_some(found.1)
}

/// Reads a word of 4 or 8 bytes.
fn number(word: &[u8]) -> u64 {
    match word.try_into() {
        Ok(wide) => u64::from_ne_bytes(wide),
        Err(_) => word.try_into().map_or(0, u32::from_ne_bytes).into(),
    }
}

/// Whether exec raised the program's privileges; `None` if `AT_SECURE` or the page size is missing.
/// Tries both widths: only the right one has a valid page size.
pub fn is_secure(bytes: &[u8]) -> Option<bool> {
    let has_page = |width: &usize| {
        let size = value(bytes, *width, PAGE_SIZE);
        size.is_some_and(|size| size.is_power_of_two())
    };
    let width = [8, 4].into_iter().find(has_page)?;
    value(bytes, width, SECURE).map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn key_0_ends_the_vector() {
        let words = [6_u64, 4096, 3, 0x5555_0040, 0, 0, 23, 1];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(value(&bytes, 8, PHDR), Some(0x5555_0040));
        assert_eq!(value(&bytes[..31], 8, PHDR), None);
        assert_eq!(value(&bytes, 8, SECURE), None);
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
