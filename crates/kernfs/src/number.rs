//! Numbers at the start of a text.

/// Returns the leading decimal number and the rest of the text; `None` if there is no
/// digit or the number does not fit into 64 bits.
pub fn decimal(text: &[u8]) -> Option<(u64, &[u8])> {
    number::<10>(text)
}

/// Returns the leading hexadecimal number and the rest of the text.
pub fn hex(text: &[u8]) -> Option<(u64, &[u8])> {
    number::<16>(text)
}

/// Returns the leading decimal number and ignores the rest.
pub fn leading(text: &[u8]) -> Option<u64> {
    decimal(text).map(|(number, _)| number)
}

/// Parses a text that is one decimal number, with optional blanks around it.
pub fn parse_whole(text: &[u8]) -> Option<u64> {
    let (number, rest) = decimal(text.trim_ascii())?;
    rest.is_empty().then_some(number)
}

fn number<const RADIX: u8>(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number: u64 = 0;
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => break,
        };
        if digit >= RADIX {
            break;
        }
        number = number
            .checked_mul(u64::from(RADIX))?
            .checked_add(u64::from(digit))?;
        rest = after;
    }
    (rest.len() < text.len()).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_where_digits_do() {
        assert_eq!(decimal(b"12 kB"), Some((12, &b" kB"[..])));
        assert_eq!(hex(b"7f-80"), Some((0x7f, &b"-80"[..])));
        assert_eq!(leading(b"12 kB"), Some(12));
        assert_eq!(leading(b"18446744073709551615"), Some(u64::MAX));
        for odd in [&b"max"[..], b"", b"-1", b"18446744073709551616"] {
            assert_eq!(leading(odd), None);
        }
    }

    #[test]
    fn parse_whole_rejects_trailing_text() {
        assert_eq!(parse_whole(b" 12\n"), Some(12));
        assert_eq!(parse_whole(b"12 kB\n"), None);
        assert_eq!(parse_whole(b"\n"), None);
    }
}
