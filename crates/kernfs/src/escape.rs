//! Escapes in mount tables: `\040` is a blank. Any byte may be escaped.

/// Decodes a word, byte by byte. An incomplete escape stays as it is.
pub fn decode(word: &[u8], mut out: impl FnMut(u8)) {
    let mut rest = word;
    while let [byte, after @ ..] = rest {
        match after {
            [
                high @ b'0'..=b'3',
                middle @ b'0'..=b'7',
                low @ b'0'..=b'7',
                after @ ..,
            ] if *byte == b'\\' => {
                out((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest = after;
            }
            _ => {
                out(*byte);
                rest = after;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn three_octal_digits_are_a_byte() {
        let decoded = |word: &[u8]| {
            let mut bytes = Vec::new();
            decode(word, |byte| bytes.push(byte));
            bytes
        };
        assert_eq!(decoded(b"/a\\040b\\134\\377"), b"/a b\\\xff");
        for plain in [&b"/a\\"[..], b"\\04", b"\\048", b"\\400", b"\\777", b""] {
            assert_eq!(decoded(plain), plain);
        }
        assert_eq!(decoded(b"\\0\\0401"), b"\\0 1");
    }
}
