//! Response files: an argument `@FILE` stands for the arguments in FILE. GNU ld, gold
//! and lld parse them the same way.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Maximum number of response files to expand, for files that include themselves. Later ones stay
/// unexpanded.
const MAX_FILES: usize = 2000;

/// Replaces each `@FILE` by the arguments in FILE. Keeps the argument if the file cannot be read.
pub(crate) fn expand(
    args: Vec<OsString>,
    read: &dyn Fn(&Path) -> io::Result<Vec<u8>>,
) -> Vec<OsString> {
    let mut left = MAX_FILES;
    let mut queue = VecDeque::from(args);
    let mut out = Vec::with_capacity(queue.len());
    while let Some(arg) = queue.pop_front() {
        let contents = match arg.as_bytes() {
            [b'@', path @ ..] if left > 0 => read(Path::new(OsStr::from_bytes(path))).ok(),
            _ => None,
        };
        match contents {
            None => out.push(arg),
            Some(contents) => {
                left -= 1;
                for word in words(&contents).into_iter().rev() {
                    queue.push_front(word);
                }
            }
        }
    }
    out
}

/// Splits at white space outside quotes. A backslash quotes the next byte, within quotes too.
fn words(contents: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut escaped = false;
    for &byte in contents {
        match byte {
            _ if escaped => {
                escaped = false;
                word.get_or_insert_default().push(byte);
            }
            b'\\' => {
                escaped = true;
                word.get_or_insert_default();
            }
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'\'' | b'"' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(args: &[&str]) -> Vec<OsString> {
        args.iter().map(OsString::from).collect()
    }

    #[test]
    fn splits_words_like_the_linkers() {
        let text = b"a 'b c'\t\"d 'e\"\n\\ f g\\\\h '' '\\'x' \xff\x0b-o\r\n";
        let mut expected = strings(&["a", "b c", "d 'e", " f", "g\\h", "", "'x"]);
        expected.push(OsString::from_vec(vec![0xff]));
        expected.push("-o".into());
        assert_eq!(words(text), expected);
        assert_eq!(words(b" \n"), strings(&[]));
    }

    #[test]
    fn a_file_that_includes_itself_stops() {
        let read = |_: &Path| Ok(b"@self x".to_vec());
        let args = expand(strings(&["@self"]), &read);
        assert_eq!(args.len(), MAX_FILES + 1);
        assert_eq!(args[0], "@self");
    }
}
