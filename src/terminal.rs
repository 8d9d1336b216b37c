//! Wraps text at the width of a terminal. Elsewhere, text stays unchanged.

use std::io;
use std::os::fd::AsFd;

use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Wraps text for standard output.
pub(crate) fn lay_out(text: &str) -> String {
    wrap(text, width(io::stdout()))
}

/// Wraps a message for standard error.
pub(crate) fn wrap_message(text: &str) -> String {
    wrap(text, width(io::stderr()))
}

/// Returns the width of a terminal, at least 1, if known.
fn width(to: impl AsFd) -> Option<usize> {
    let columns = terminal_size_of(to).map(|(Width(columns), _)| columns.into());
    columns.filter(|columns| *columns > 0)
}

fn wrap(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let lines = text.split('\n').map(|line| fold(line, columns));
    lines.collect::<Vec<String>>().join("\n")
}

/// Wraps a line and indents its continuation. Commands stay whole, for users to copy.
fn fold(line: &str, columns: usize) -> String {
    if is_command(line) {
        return line.to_owned();
    }
    let indent = " ".repeat(indentation(line).min(columns / 2));
    let options = Options::new(columns)
        .break_words(false)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(line, options)
}

/// Whether a line is a suggested command.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("-> ")
}

/// Returns the indentation of continuation lines: that of the line's text after any bullet or
/// number, or two columns if that is 0.
fn indentation(line: &str) -> usize {
    let text = line.trim_start_matches(' ');
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = match (text.strip_prefix("* "), number.strip_prefix(". ")) {
        (Some(_), _) => 2,
        (None, Some(rest)) if number.len() < text.len() => text.len() - rest.len(),
        _ => 0,
    };
    match line.len() - text.len() + mark {
        0 => 2,
        columns => columns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuation_lines_are_indented() {
        let text = "\
1. the pool of 2MB pages has no page left
   the heap goes to transparent huge pages
   -> hugeadm --pool-pages-min 2MB:+8 --force
* heap, by our malloc: 2MB pages from the pool
heap          104448       104448  100.0%  thp
";
        assert_eq!(
            wrap(text, Some(40)),
            "\
1. the pool of 2MB pages has no page
   left
   the heap goes to transparent huge
   pages
   -> hugeadm --pool-pages-min 2MB:+8 --force
* heap, by our malloc: 2MB pages from
  the pool
heap          104448       104448
  100.0%  thp
"
        );
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        for columns in 1..200 {
            let laid_out = wrap(text, Some(columns));
            assert_eq!(words(&laid_out), words(text), "{columns}");
        }
    }
}
