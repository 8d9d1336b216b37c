//! Lays out text for a terminal: wraps it at the terminal's width and adds colours. Elsewhere,
//! text stays unchanged unless `--color=always`.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The value of `--color`.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Lays out text for standard output.
pub(crate) fn lay_out(text: &str) -> String {
    Layout::of_output().apply(text)
}

/// Wraps a message for standard error.
pub(crate) fn wrap_message(text: &str) -> String {
    let layout = Layout {
        columns: width(io::stderr()),
        has_colours: false,
    };
    layout.apply(text)
}

/// Returns the width of a terminal, at least 1, if known.
pub(crate) fn width(to: impl std::os::fd::AsFd) -> Option<usize> {
    let columns = terminal_size_of(to).map(|(Width(columns), _)| columns.into());
    columns.filter(|columns| *columns > 0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    columns: Option<usize>,
    has_colours: bool,
}

impl Layout {
    fn of_output() -> Layout {
        let has_colours = match CHOICE.get().copied().unwrap_or_default() {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stdout().is_terminal() && wants_colours(),
        };
        Layout {
            columns: width(io::stdout()),
            has_colours,
        }
    }

    fn apply(self, text: &str) -> String {
        let mut laid_out = String::new();
        for line in text.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            let folded = self.fold(line);
            let painted: Vec<String> = folded.iter().map(|line| self.paint(line)).collect();
            laid_out += &painted.join("\n");
            laid_out += end;
        }
        laid_out
    }

    /// Wraps a line and indents its continuation. Commands stay whole, for users to copy.
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
            return line.to_owned();
        };
        format!("{style}{line}{style:#}")
    }
}

/// Whether `NO_COLOR` (<https://no-color.org>) and `TERM` permit colours.
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

    fn on(columns: usize) -> Layout {
        Layout {
            columns: Some(columns),
            has_colours: false,
        }
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
            let laid_out = on(columns).apply(text);
            assert_eq!(words(&laid_out), words(text), "{columns}");
        }
    }
}
