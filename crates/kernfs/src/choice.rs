//! Settings with a choice of words: `always [madvise] never`.

/// Returns the word in brackets, or the only word (as after a write to a recorded tree).
pub fn chosen(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    if let Some(start) = line.iter().position(|byte| *byte == b'[') {
        let word = &line[start + 1..];
        let end = word.iter().position(|byte| *byte == b']')?;
        return Some(&word[..end]);
    }
    let is_one = !line.is_empty() && !line.iter().any(u8::is_ascii_whitespace);
    is_one.then_some(line)
}

/// Returns the supported choices: all words of a line with one word in brackets. `None` for
/// other lines.
pub fn offered(line: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    let words = || {
        line.split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
    };
    let marked = words().filter(|word| bare(word).len() + 2 == word.len());
    (marked.count() == 1).then(|| words().map(bare))
}

/// Strips the brackets from a word.
fn bare(word: &[u8]) -> &[u8] {
    match word {
        [b'[', word @ .., b']'] => word,
        word => word,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_choice_is_the_bracketed_word() {
        assert_eq!(chosen(b"always [madvise] never\n"), Some(&b"madvise"[..]));
        assert_eq!(chosen(b"never\n"), Some(&b"never"[..]));
        assert_eq!(chosen(b"always madvise\n"), None);
        assert_eq!(chosen(b"always [madv"), None);
        assert_eq!(chosen(b""), None);
    }

    #[test]
    fn words_without_a_mark_are_not_offered() {
        let words: Vec<_> = offered(b"always [madvise] never\n").unwrap().collect();
        assert_eq!(words, [&b"always"[..], b"madvise", b"never"]);
        assert!(offered(b"never\n").is_none());
        assert!(offered(b"[always] [never]\n").is_none());
    }
}
