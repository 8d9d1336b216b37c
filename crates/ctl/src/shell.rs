//! Quoting for shells.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Appends a word in single quotes.
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

/// Joins words with spaces and quotes them where a shell needs it. Replaces invalid UTF-8.
pub(crate) fn join<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
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

/// Whether no byte of a word is special to a shell.
fn is_plain(word: &OsStr) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(byte);
    word.as_bytes().iter().all(plain)
}
