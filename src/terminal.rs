//! What people read, laid out for the terminal that they read it on: as wide as that is,
//! with bars and colours. Elsewhere a text stays as it is, and classic listings do
//! everywhere.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Cells of a bar, and the columns of it and of what follows it.
const CELLS: usize = 10;
const BAR: usize = CELLS + 2;
const PAGES: usize = 9;

/// The column that has bars.
const SHARE: &str = "share";

/// Of this share on, in percent, almost all is huge.
const MOST: f64 = 90.0;

/// What `--color` says.
static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Keeps what `--color` says.
pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// A text for standard output.
pub(crate) fn dress(text: &str) -> String {
    Dress::of_output().put_on(text)
}

/// How a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dress {
    /// How many columns there are, on a terminal that tells.
    columns: Option<usize>,
    has_colours: bool,
}

impl Dress {
    fn of_output() -> Dress {
        let columns = terminal_size_of(io::stdout()).map(|(Width(columns), _)| columns.into());
        let has_colours = match CHOICE.get().copied().unwrap_or_default() {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => io::stdout().is_terminal() && wants_colours(),
        };
        Dress {
            columns: columns.filter(|columns| *columns > 0),
            has_colours,
        }
    }

    fn put_on(self, text: &str) -> String {
        let mut dressed = String::new();
        for line in text.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            let folded = self.fold(&self.with_bar(line));
            let painted: Vec<String> = folded.iter().map(|line| self.paint(line)).collect();
            dressed += &painted.join("\n");
            dressed += end;
        }
        dressed
    }

    /// A row with a bar behind its share, and room for it in the head of the table, where
    /// the terminal is so wide.
    fn with_bar(self, line: &str) -> String {
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

    /// A line in as many as it needs, those that follow further in. Commands are whole, so
    /// that they can be copied.
    fn fold(self, line: &str) -> Vec<String> {
        let Some(columns) = self.columns.filter(|_| !is_command(line)) else {
            return vec![line.to_owned()];
        };
        let indent = " ".repeat(hanging(line).min(columns / 2));
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

/// Whether somebody has not asked for none: <https://no-color.org>.
#[expect(
    clippy::disallowed_methods,
    reason = "the environment is read here, in src/"
)]
fn wants_colours() -> bool {
    let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    value("NO_COLOR").is_none() && value("TERM").is_some_and(|term| term != "dumb")
}

/// Whether a line is a command that mends something.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("-> ")
}

/// How far in the text of a line begins, behind its mark; a row of a table, two columns.
fn hanging(line: &str) -> usize {
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

/// The share in a row of a table, as it stands there and in percent.
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
        share if share >= MOST => AnsiColor::Green,
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

    const PLAIN: Dress = Dress {
        columns: None,
        has_colours: false,
    };

    fn on(columns: usize) -> Dress {
        Dress {
            columns: Some(columns),
            ..PLAIN
        }
    }

    #[test]
    fn elsewhere_a_text_stays_as_it_is() {
        assert_eq!(PLAIN.put_on(TABLE), TABLE);
        assert_eq!(PLAIN.put_on("\n\nno end of line"), "\n\nno end of line");
    }

    #[test]
    fn shares_have_bars_where_there_is_room() {
        assert_eq!(
            on(80).put_on(TABLE),
            "\
segment    mapped kB  resident kB      huge kB   share                pages
heap          104448       104448       104448  100.0%  [##########]  2MB
  hugetlb+thp
anon           10652           56           20   35.7%  [###       ]  -
file             420          200            0    0.0%  [          ]  -
"
        );
        assert_eq!(on(74).put_on(TABLE), TABLE);
    }

    #[test]
    fn long_lines_hang_from_their_marks() {
        let text = "\
1. the pool of 2MB pages has no page left
   the heap goes to transparent huge pages
   -> hugeadm --pool-pages-min 2MB:+8 --force
* heap, by our malloc: 2MB pages from the pool
heap          104448       104448  100.0%  thp
";
        assert_eq!(
            on(40).put_on(text),
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
            let dressed = on(columns).put_on(text);
            let is_told = |word: &String| !word.starts_with('[') && !word.ends_with(']');
            let told: Vec<String> = words(&dressed).into_iter().filter(is_told).collect();
            assert_eq!(told, words(text), "{columns}");
        }
    }

    #[test]
    fn colours_say_no_more_than_the_text() {
        let colours = Dress {
            has_colours: true,
            ..PLAIN
        };
        let painted = colours.put_on(&format!("What falls short:\n   -> hugeadm\n{TABLE}"));
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
