//! Escapes in mount tables: `\040` is a blank. Any byte may be escaped.

/// Decodes escapes byte by byte.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoder {
    /// The octal digits after a `\`.
    digits: [u8; 2],
    /// The number of these digits; `None` outside an escape.
    len: Option<usize>,
}

impl Decoder {
    /// Returns a decoder at the beginning of a word.
    pub(crate) const fn new() -> Decoder {
        Decoder {
            digits: [0; 2],
            len: None,
        }
    }

    /// Consumes the next byte.
    pub(crate) fn take(&mut self, byte: u8, out: &mut impl FnMut(u8)) {
        // The first digit is at most 3, so that the value fits into a byte.
        let is_digit = match self.len {
            Some(0) => matches!(byte, b'0'..=b'3'),
            _ => matches!(byte, b'0'..=b'7'),
        };
        match self.len {
            None if byte == b'\\' => self.len = Some(0),
            None => out(byte),
            Some(2) if is_digit => {
                let [high, middle] = self.digits.map(|digit| digit - b'0');
                self.len = None;
                out(high << 6 | middle << 3 | (byte - b'0'));
            }
            Some(len @ (0 | 1)) if is_digit => {
                self.digits[len] = byte;
                self.len = Some(len + 1);
            }
            Some(_) => {
                self.end(out);
                self.take(byte, out);
            }
        }
    }

    /// Ends the word. An incomplete escape is emitted as it is.
    pub(crate) fn end(&mut self, out: &mut impl FnMut(u8)) {
        if let Some(len) = self.len.take() {
            out(b'\\');
            self.digits[..len].iter().for_each(|digit| out(*digit));
        }
    }
}

/// Decodes a word, byte by byte.
pub fn decode(word: &[u8], mut out: impl FnMut(u8)) {
    let mut decoder = Decoder::new();
    word.iter().for_each(|byte| decoder.take(*byte, &mut out));
    decoder.end(&mut out);
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
