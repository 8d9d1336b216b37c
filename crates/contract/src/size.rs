//! Sizes with libhugetlbfs' syntax of `HUGETLB_*` variables: C's `strtol` with base 0,
//! then an optional unit letter. The rest is ignored.

/// A size, and whether it was followed by text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedSize {
    /// Bytes.
    pub bytes: u64,
    /// Whether text follows number and unit (`M`, `MB`, `Mi`, `MiB`).
    pub has_trailing_text: bool,
}

/// Reads a size such as `2M`, `2MB`, `0x200000` or `2097152`. Returns `None` for text without a
/// number, for zero, for negative sizes, and for sizes above 63 bits.
pub fn parse(text: &[u8]) -> Option<ParsedSize> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let (radix, digits) = match text {
        [b'0', b'x' | b'X', rest @ ..] if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
            (16, rest)
        }
        [b'0', ..] => (8, text),
        _ => (10, text),
    };
    let mut value: u64 = 0;
    let mut used = 0;
    for byte in digits {
        let Some(digit) = char::from(*byte).to_digit(radix) else {
            break;
        };
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)))?;
        used += 1;
    }
    if used == 0 || value == 0 {
        return None;
    }
    let (shift, has_trailing_text) = unit(&digits[used..]);
    let bytes = value
        .checked_mul(1 << shift)
        .filter(|bytes| i64::try_from(*bytes).is_ok())?;
    Some(ParsedSize {
        bytes,
        has_trailing_text,
    })
}

fn unit(text: &[u8]) -> (u32, bool) {
    let shift = match text.first().map(u8::to_ascii_lowercase) {
        None => return (0, false),
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(_) => return (0, true),
    };
    let rest = &text[1..];
    let endings: [&[u8]; 4] = [b"", b"b", b"i", b"ib"];
    let known = endings.iter().any(|end| rest.eq_ignore_ascii_case(end));
    (shift, !known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Option<u64> {
        parse(text.as_bytes()).map(|size| size.bytes)
    }

    #[test]
    fn lenient_sizes() {
        for text in "2M 2m 2MB 2MiB 2mfoo +2M 2097152 0x200000 010000000".split(' ') {
            assert_eq!(bytes(text), Some(2 << 20), "{text}");
        }
        assert_eq!(bytes(" 2M"), Some(2 << 20));
        assert_eq!(bytes("2.5G"), Some(2));
        assert!(parse(b"2mfoo").unwrap().has_trailing_text);
        for whole in ["2M", "2MB", "2Mi", "2mi", "2MiB"] {
            assert!(
                !parse(whole.as_bytes()).unwrap().has_trailing_text,
                "{whole}"
            );
        }
    }

    #[test]
    fn invalid_sizes() {
        for text in "M 0 -2M 0x thp 99999999999999999999 9999999999G".split(' ') {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert_eq!(bytes(""), None);
    }
}
