//! Wraps a report for a narrow terminal.

use std::fmt::{self, Write};

/// Columns by which continuation lines are indented.
const INDENT: usize = 2;

/// Writes a text, wrapped at spaces to at most `columns` columns. A longer word is not
/// broken.
pub(super) fn fold(text: &str, columns: usize, out: &mut impl Write) -> fmt::Result {
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let (mut rest, mut at) = (line, 0);
        while !rest.is_empty() {
            let spaces = rest.len() - rest.trim_start_matches(' ').len();
            let len = rest[spaces..]
                .find(' ')
                .map_or(rest.len(), |len| spaces + len);
            let (word, after) = rest.split_at(len);
            let width = word.chars().count();
            if at > 0 && at + width > columns {
                let word = &word[spaces..];
                write!(out, "\n{:INDENT$}{word}", "")?;
                at = INDENT + width - spaces;
            } else {
                out.write_str(word)?;
                at += width;
            }
            rest = after;
        }
        out.write_str(end)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
/bin/x, process 42
segment    mapped kB  resident kB      huge kB   share  pages
heap          614400       512000       509952   99.6%  2MB hugetlb+thp  (the pool is empty)
";

    fn folded(columns: usize) -> String {
        let mut out = String::new();
        fold(TABLE, columns, &mut out).unwrap();
        out
    }

    #[test]
    fn lines_fit_the_terminal() {
        assert_eq!(folded(200), TABLE);
        assert_eq!(
            folded(40),
            "\
/bin/x, process 42
segment    mapped kB  resident kB
  huge kB   share  pages
heap          614400       512000
  509952   99.6%  2MB hugetlb+thp  (the
  pool is empty)
"
        );
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(String::from).collect() };
        for columns in 1..100 {
            let text = folded(columns);
            assert_eq!(words(&text), words(TABLE), "{columns}");
            let is_long = |line: &&str| line.len() > columns.max("  hugetlb+thp".len());
            assert_eq!(text.lines().find(is_long), None, "{columns}");
        }
    }
}
