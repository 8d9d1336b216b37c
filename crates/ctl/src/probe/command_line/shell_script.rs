//! What a shell script becomes at its end, where that is plain: an `exec`, or a last
//! line, that names a program, outside of `if`, loops and functions; by its name, or by
//! variables that the script assigns. What is not plain is nothing; of a name in a
//! variable that cannot be read it is known that it is not.

mod variables;

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use hugetools_contract::report::is_shell;

use crate::caller::Caller;
use crate::files;
use crate::probe::target::Target;
use variables::Variables;

/// A longer script is no wrapper.
const LONGEST: u64 = 64 << 10;

/// A script, and what it was given.
pub(super) struct Script {
    pub(super) text: Vec<u8>,
    arguments: Vec<OsString>,
}

/// What a script ends with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// One of these commands.
    Commands(Vec<Vec<OsString>>),
    /// Nothing plain.
    Nothing,
    /// A program that this word names, which cannot be read from the text.
    Unread(String),
}

impl Script {
    /// The script that a command line runs, if it is a shell's.
    pub(super) fn of(target: &Target, command: &[OsString]) -> Option<Script> {
        if !is_shell(target.program.as_os_str().as_bytes()) {
            return None;
        }
        let words = command.get(1..)?;
        if target.is_text || !target.through.is_empty() {
            return Script::read(&target.path, words);
        }
        let at = words
            .iter()
            .position(|word| !word.as_bytes().starts_with(b"-"))?;
        let (options, rest) = words.split_at(at);
        let (first, arguments) = rest.split_first()?;
        let is_text = |word: &OsString| !word.as_bytes().starts_with(b"--") && has_c(word);
        match options.iter().any(is_text) {
            // The first argument behind a text is its name.
            true => Some(Script {
                text: first.as_bytes().to_vec(),
                arguments: arguments.get(1..).unwrap_or_default().to_vec(),
            }),
            false => Script::read(Path::new(first), arguments),
        }
    }

    fn read(path: &Path, arguments: &[OsString]) -> Option<Script> {
        let mut text = Vec::new();
        let (file, _) = files::open_regular(path).ok()?;
        let read = file.take(LONGEST + 1).read_to_end(&mut text).ok()?;
        (read as u64 <= LONGEST).then(|| Script {
            text,
            arguments: arguments.to_vec(),
        })
    }

    /// The command that it ends with, started with this environment.
    pub(super) fn end(&self, caller: &Caller) -> End {
        let lines = self.lines();
        let lines = lines.as_slice();
        let words = last_command(lines);
        let variables = Variables { lines, caller };
        words.map_or(End::Nothing, |words| self.commands(words, &variables))
    }

    /// The lines that do something, continued ones as one, without texts for standard
    /// input.
    fn lines(&self) -> Vec<Vec<u8>> {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let (mut goes_on, mut until) = (false, None::<Vec<u8>>);
        for line in self.text.split(|byte| *byte == b'\n') {
            if let Some(end) = &until {
                if line.trim_ascii_start() == end {
                    until = None;
                }
                continue;
            }
            let (part, continued) = match line.strip_suffix(b"\\") {
                Some(part) => (part, true),
                None => (line, false),
            };
            match lines.last_mut().filter(|_| goes_on) {
                Some(before) => before.extend_from_slice(part),
                None => lines.push(part.to_vec()),
            }
            goes_on = continued;
            until = lines.last().and_then(|line| text_behind(line));
        }
        let is_said = |line: &Vec<u8>| !matches!(line.trim_ascii().first(), None | Some(b'#'));
        lines.retain(is_said);
        lines
    }

    /// The words of a command, with the script's own arguments in the place of `"$@"`;
    /// of a program in a variable each that it may be.
    fn commands(&self, words: Vec<Word>, variables: &Variables<'_>) -> End {
        let is_assignment = |word: &Word| word.is_plain && word.text.contains(&b'=');
        let words = words
            .into_iter()
            .skip_while(|word| word.text == b"exec" || is_assignment(word));
        let mut command = Vec::new();
        for word in words {
            match word.text.as_slice() {
                b"$@" | b"$*" | b"${1+$@}" => command.extend(self.arguments.iter().cloned()),
                text => command.push(OsString::from_vec(text.to_vec())),
            }
        }
        let Some((name, arguments)) = command.split_first() else {
            return End::Nothing;
        };
        let text = name.as_bytes();
        if !text.contains(&b'$') {
            return match is_program(text) {
                true => End::Commands(vec![command]),
                false => End::Nothing,
            };
        }
        let programs = variables.programs(text);
        match programs.filter(|programs| programs.iter().all(|name| is_program(name))) {
            Some(programs) => {
                let command = |name: Vec<u8>| -> Vec<OsString> {
                    let name = std::iter::once(OsString::from_vec(name));
                    name.chain(arguments.iter().cloned()).collect()
                };
                End::Commands(programs.into_iter().map(command).collect())
            }
            None => End::Unread(name.to_string_lossy().into_owned()),
        }
    }

    /// Whether it speaks of something.
    pub(super) fn has(&self, text: &str) -> bool {
        memchr::memmem::find(&self.text, text.as_bytes()).is_some()
    }
}

/// Whether this can be a program's name. What the script itself finds out, or finds
/// elsewhere, is not known here.
fn is_program(name: &[u8]) -> bool {
    let is_found = name.starts_with(b"/") || !name.contains(&b'/');
    is_found && !name.starts_with(b"-") && !name.iter().any(|byte| b"$`*?[".contains(byte))
}

/// The words of the last command, or of the `exec` that ends the script before.
fn last_command(lines: &[Vec<u8>]) -> Option<Vec<Word>> {
    let mut depth = 0i32;
    let mut last = None;
    for line in lines {
        let is_outside = depth == 0;
        depth += nesting(line);
        if !is_outside || depth != 0 {
            last = None;
            continue;
        }
        let words = words(line);
        match words.as_deref().map(begins) {
            Some(Begins::Exit) => return None,
            // Only descriptors of the shell itself change.
            Some(Begins::Nothing) => {}
            Some(Begins::Exec) => return words,
            Some(Begins::Command) | None => last = words,
        }
    }
    last
}

/// Whether an option of a shell has a text follow: `-c`, `-ec`.
fn has_c(word: &OsString) -> bool {
    word.as_bytes().contains(&b'c')
}

/// A word of a line.
struct Word {
    text: Vec<u8>,
    /// Whether no part of it was in quotes.
    is_plain: bool,
}

/// How a line begins.
enum Begins {
    Exec,
    Exit,
    Nothing,
    Command,
}

fn begins(words: &[Word]) -> Begins {
    let texts: Vec<&[u8]> = words.iter().map(|word| word.text.as_slice()).collect();
    match texts.as_slice() {
        [] | [b"exec"] => Begins::Nothing,
        [b"exec", ..] => Begins::Exec,
        [b"exit" | b"return", ..] => Begins::Exit,
        _ => Begins::Command,
    }
}

/// The words of one simple command, without redirections; `None` where it is more than
/// that, or its quotes are not closed.
fn words(line: &[u8]) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii();
    while !rest.is_empty() {
        let (word, behind) = word(rest)?;
        let digits = word.text.iter().take_while(|byte| byte.is_ascii_digit());
        let at = digits.count();
        match word.text.get(at) {
            Some(b'<' | b'>') if word.is_plain => {
                // `> file` has its name in the next word.
                let is_whole = word.text.last().is_some_and(|byte| !b"<>".contains(byte));
                rest = match is_whole {
                    true => behind,
                    false => self::word(behind.trim_ascii_start())?.1,
                };
            }
            _ if word.is_plain && word.text.starts_with(b"#") => break,
            _ if word.is_plain && is_more(&word.text) => return None,
            _ => {
                words.push(word);
                rest = behind;
            }
        }
        rest = rest.trim_ascii_start();
    }
    Some(words)
}

/// Whether a word without quotes is more than a part of a simple command. The braces of
/// `${NAME}` are not.
fn is_more(word: &[u8]) -> bool {
    let mut word = word.to_vec();
    while let Some(at) = memchr::memmem::find(&word, b"${") {
        match word[at..].iter().position(|byte| *byte == b'}') {
            Some(len) => drop(word.drain(at..=at + len)),
            None => return true,
        }
    }
    word.iter().any(|byte| b"|&;()<>{}`".contains(byte))
}

/// The first word, and what is behind it.
fn word(line: &[u8]) -> Option<(Word, &[u8])> {
    let (mut text, mut is_plain, mut quote) = (Vec::new(), true, None);
    for (at, byte) in line.iter().copied().enumerate() {
        match (quote, byte) {
            (None, b' ' | b'\t') => return Some((Word { text, is_plain }, &line[at..])),
            (None, b'\'' | b'"') => (quote, is_plain) = (Some(byte), false),
            (Some(open), _) if open == byte => quote = None,
            // Rare, and not worth understanding.
            (Some(b'"') | None, b'\\') => return None,
            _ => text.push(byte),
        }
    }
    quote.is_none().then_some((Word { text, is_plain }, &[]))
}

/// How many blocks a line opens, less those that it closes.
fn nesting(line: &[u8]) -> i32 {
    let separators = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
    let sum = line.split(separators).map(|word| match word {
        b"if" | b"for" | b"while" | b"until" | b"case" | b"select" | b"{" | b"(" => 1,
        b"fi" | b"done" | b"esac" | b"}" | b")" => -1,
        word if word.ends_with(b"{") && !word.contains(&b'$') => 1,
        _ => 0,
    });
    sum.sum()
}

/// What ends the text that follows a line for its standard input.
fn text_behind(line: &[u8]) -> Option<Vec<u8>> {
    let at = memchr::memmem::find(line, b"<<")?;
    let name = line.get(at + 2..)?;
    if name.starts_with(b"<") || line.trim_ascii_start().starts_with(b"#") {
        return None;
    }
    let name = name.strip_prefix(b"-").unwrap_or(name).trim_ascii_start();
    let name = name.iter().filter(|byte| !b"'\"\\".contains(byte));
    let name: Vec<u8> = name
        .copied()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests;
