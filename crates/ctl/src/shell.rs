//! Words as a shell reads them back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Puts a word in single quotes, which every shell leaves as it is.
pub(crate) fn quote(out: &mut Vec<u8>, word: &OsStr) {
    out.push(b'\'');
    for byte in word.as_bytes() {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}

/// A command line to be typed: quotes only where a word needs them.
pub(crate) fn line<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    let mut out = Vec::new();
    for word in words {
        let word = word.as_ref();
        if !out.is_empty() {
            out.push(b' ');
        }
        match !word.is_empty() && is_plain(word) {
            true => out.extend(word.as_bytes()),
            false => quote(&mut out, word),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether no byte of it means anything to a shell.
fn is_plain(word: &OsStr) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(byte);
    word.as_bytes().iter().all(plain)
}

/// Whether a text for `sh -c` is one command of plain words, which can stand behind
/// other words.
pub(crate) fn is_one_command(text: &OsStr) -> bool {
    let mut words = text.as_bytes().split(|byte| *byte == b' ');
    let first = words.next().unwrap_or_default();
    let is_name = !first.is_empty() && !first.contains(&b'=') && first != b"exec" && first != b"cd";
    let mut all = words.chain([first]);
    is_name && all.all(|word| is_plain(OsStr::from_bytes(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_where_they_are_needed() {
        assert_eq!(line(["a", "-b=c", "d e", ""]), "a -b=c 'd e' ''");
        assert_eq!(line(["it's", "$x"]), "'it'\\''s' '$x'");
    }

    #[test]
    fn one_command_or_more() {
        for text in ["pg_ctl start", "/usr/bin/x -a=b 1"] {
            assert!(is_one_command(OsStr::new(text)), "{text}");
        }
        for text in ["a; b", "A=b c", "cd /x", "exec a", "a 'b c'", "a | b", ""] {
            assert!(!is_one_command(OsStr::new(text)), "{text}");
        }
    }
}
