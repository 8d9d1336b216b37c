//! Lays out text for a terminal: wraps it at the terminal's width and adds bars and
//! colours. Text for a pipe or a file, and classic listings, stay unchanged.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Width of a bar in cells; with its separators, in columns.
const CELLS: usize = 10;
const BAR: usize = CELLS + 2;
const PAGES: usize = 9;

/// The column that gets bars.
const SHARE: &str = "share";

/// Minimum share in percent that is coloured as almost all huge.
const ALMOST_ALL: f64 = 90.0;

/// The value of `--color`.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Stores the value of `--color`.
pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Lays out text for standard output.
pub(crate) fn lay_out(text: &str) -> String {
    Layout::of_output().apply(text)
}

/// The layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// The width of the terminal, if known.
    columns: Option<usize>,
    has_colours: bool,
}

impl Layout {
    fn of_output() -> Layout {
        let columns = terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into());
        let has_colours = match CHOICE.get().copied().unwrap_or_default() {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stdout().is_terminal() && wants_colours(),
        };
        Layout {
            columns: columns.filter(|columns| *columns > 0),
            has_colours,
        }
    }

    fn apply(self, text: &str) -> String {
        let mut dressed = String::new();
        for line in text.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            let folded = self.fold(&self.add_bar(line));
            let painted: Vec<String> = folded.iter().map(|line| self.paint(line)).collect();
            dressed += &painted.join("\n");
            dressed += end;
        }
        dressed
    }

    /// Adds a bar after the share of a row, and room for it in the table head, if the
    /// terminal is wide enough.
    fn add_bar(self, line: &str) -> String {
        let (word, bar) = match share(line) {
            Some((word, share)) => (word, bar(share)),
            None if is_head(line) => (SHARE, String::new()),
            None => return line.to_owned(),
        };
        let Some((before, behind)) = line.split_once(word) else {
            return line.to_owned();
        };
        let columns = before.chars().count() + word.len() + 2 + BAR;
        match self.columns {
            Some(room) if room >= columns + PAGES => {
                let line = format!("{before}{word}  {bar:BAR$}{behind}");
                line.trim_end().to_owned()
            }
            _ => line.to_owned(),
        }
    }

    /// Wraps a line and indents the continuation lines. Commands are not wrapped, so that
    /// they can be copied.
    fn fold(self, line: &str) -> Vec<String> {
        let Some(columns) = self.columns.filter(|_| !is_command(line)) else {
            return vec![line.to_owned()];
        };
        let indent = " ".repeat(indentation(line).min(columns / 2));
        let options = Options::new(columns)
            .break_words(false)
            .subsequent_indent(&indent)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        let folded = textwrap::wrap(line, options);
        folded.into_iter().map(Into::into).collect()
    }

    fn paint(self, line: &str) -> String {
        if !self.has_colours {
            return line.to_owned();
        }
        let is_heading = line.ends_with(':') && !line.starts_with([' ', '*']);
        let style = if is_heading {
            Style::new().bold()
        } else if is_command(line) {
            AnsiColor::Cyan.on_default()
        } else {
            return painted_share(line);
        };
        painted(line, style)
    }
}

/// Whether `NO_COLOR` permits colours: <https://no-color.org>.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, in src/"
)]
fn wants_colours() -> bool {
    let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    value("NO_COLOR").is_none() && value("TERM").is_some_and(|term| term != "dumb")
}

/// Whether a line is a suggested command.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("-> ")
}

/// Returns the indentation of continuation lines: the text after a line's mark, or two
/// columns for a table row.
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

/// Returns the share in a table row, as text and in percent.
fn share(line: &str) -> Option<(&str, f64)> {
    let is_row = line.contains("  ");
    let mut words = line.split_whitespace().filter(|_| is_row);
    words.find_map(|word| {
        let percent: f64 = word.strip_suffix('%')?.parse().ok()?;
        Some((word, percent))
    })
}

/// Whether a line is the head of a table with shares.
fn is_head(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_lowercase())
        && line.contains("  ")
        && line.split_whitespace().any(|word| word == SHARE)
}

fn bar(share: f64) -> String {
    let is_full = |cell: &usize| share * CELLS as f64 >= *cell as f64 * 100.0;
    let full = (1..=CELLS).filter(is_full).count();
    format!("[{}{}]", "#".repeat(full), " ".repeat(CELLS - full))
}

fn painted_share(line: &str) -> String {
    let Some((word, share)) = share(line) else {
        return line.to_owned();
    };
    let colour = match share {
        share if share >= ALMOST_ALL => AnsiColor::Green,
        share if share > 0.0 => AnsiColor::Yellow,
        _ => AnsiColor::Red,
    };
    line.replacen(word, &painted(word, colour.on_default()), 1)
}

fn painted(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
segment    mapped kB  resident kB      huge kB   share  pages
heap          104448       104448       104448  100.0%  2MB hugetlb+thp
anon           10652           56           20   35.7%  -
file             420          200            0    0.0%  -
";

    const PLAIN: Layout = Layout {
        columns: None,
        has_colours: false,
    };

    fn on(columns: usize) -> Layout {
        Layout {
            columns: Some(columns),
            ..PLAIN
        }
    }

    #[test]
    fn without_a_terminal_text_is_unchanged() {
        assert_eq!(PLAIN.apply(TABLE), TABLE);
        assert_eq!(PLAIN.apply("\n\nno end of line"), "\n\nno end of line");
    }

    #[test]
    fn shares_get_bars_if_they_fit() {
        assert_eq!(
            on(80).apply(TABLE),
            "\
segment    mapped kB  resident kB      huge kB   share                pages
heap          104448       104448       104448  100.0%  [##########]  2MB
  hugetlb+thp
anon           10652           56           20   35.7%  [###       ]  -
file             420          200            0    0.0%  [          ]  -
"
        );
        assert_eq!(on(74).apply(TABLE), TABLE);
    }

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
            on(40).apply(text),
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
            let dressed = on(columns).apply(text);
            let is_told = |word: &String| !word.starts_with('[') && !word.ends_with(']');
            let told: Vec<String> = words(&dressed).into_iter().filter(is_told).collect();
            assert_eq!(told, words(text), "{columns}");
        }
    }

    #[test]
    fn colours_do_not_change_the_text() {
        let colours = Layout {
            has_colours: true,
            ..PLAIN
        };
        let painted = colours.apply(&format!("What falls short:\n   -> hugeadm\n{TABLE}"));
        let expected = [
            "\x1b[1mWhat falls short:\x1b[0m\n",
            "\x1b[36m   -> hugeadm\x1b[0m\n",
            "  \x1b[32m100.0%\x1b[0m  2MB",
            "   \x1b[33m35.7%\x1b[0m  -",
            "    \x1b[31m0.0%\x1b[0m  -",
        ];
        for part in expected {
            assert!(painted.contains(part), "{part:?}: {painted:?}");
        }
    }
}
