//! What a variable of a script may hold: each value that a line of it assigns, and the one
//! that the caller's environment has. Which of the lines are carried out is not asked.

use std::os::unix::ffi::OsStrExt;

use crate::caller::Caller;

/// Stands in a value for a part that is not known.
const UNKNOWN: u8 = 0;

/// More values are no plain matter.
const MOST: usize = 16;

/// So many variables may lead from one to the next.
const DEEPEST: usize = 6;

/// The lines of a script, and the environment that it is started with.
pub(super) struct Variables<'s> {
    pub(super) lines: &'s [Vec<u8>],
    pub(super) caller: &'s Caller,
}

impl Variables<'_> {
    /// The programs that a word may name. Of one below a directory that is not known
    /// its own name is enough. `None` where it cannot be told.
    pub(super) fn programs(&self, word: &[u8]) -> Option<Vec<Vec<u8>>> {
        let values = self.expand(word, DEEPEST);
        let mut names: Vec<Vec<u8>> = Vec::new();
        for value in values.into_iter().filter(|value| !value.is_empty()) {
            let name = match value.iter().rposition(|byte| *byte == UNKNOWN) {
                None => value,
                Some(at) => {
                    let rest = &value[at..];
                    let slash = rest.iter().rposition(|byte| *byte == b'/')?;
                    rest[slash + 1..].to_vec()
                }
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let is_plain = |name: &Vec<u8>| !name.is_empty() && !name.contains(&b' ');
        (!names.is_empty() && names.len() <= MOST && names.iter().all(is_plain)).then_some(names)
    }

    /// All values that a text may have.
    fn expand(&self, text: &[u8], deep: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut rest = text;
        while let Some((byte, behind)) = rest.split_first() {
            let (values, behind) = match byte {
                b'$' => self.dollar(behind, deep),
                b'`' => command(behind, b"`"),
                byte => (vec![vec![*byte]], behind),
            };
            let join = |before: &Vec<u8>| -> Vec<Vec<u8>> {
                let both = |value: &Vec<u8>| [before.as_slice(), value].concat();
                values.iter().map(both).collect()
            };
            all = all.iter().flat_map(join).take(MOST + 1).collect();
            rest = behind;
        }
        all
    }

    /// What stands behind a `$`: its values, and what follows it.
    fn dollar<'t>(&self, text: &'t [u8], deep: usize) -> (Vec<Vec<u8>>, &'t [u8]) {
        let unknown = vec![vec![UNKNOWN]];
        match text.first() {
            Some(b'(') => command(&text[1..], b")"),
            Some(b'{') => {
                let Some(end) = text.iter().position(|byte| *byte == b'}') else {
                    return (unknown, &[]);
                };
                let (inside, behind) = (&text[1..end], &text[end + 1..]);
                let (name, rest) = inside.split_at(name_len(inside));
                let values = match rest {
                    [] => self.of(name, deep),
                    // What it has, or else this.
                    [b':', b'-' | b'=', other @ ..] | [b'-' | b'=', other @ ..] => {
                        let mut values = self.found(name, deep);
                        values.extend(self.expand(&unquoted(other), deep));
                        values
                    }
                    _ => unknown,
                };
                (values, behind)
            }
            _ => {
                let (name, behind) = text.split_at(name_len(text));
                match name {
                    // An argument, or what the shell itself knows.
                    [] => (unknown, text.get(1..).unwrap_or(&[])),
                    name => (self.of(name, deep), behind),
                }
            }
        }
    }

    /// The values of a variable; unknown where nothing assigns one: another file may.
    fn of(&self, name: &[u8], deep: usize) -> Vec<Vec<u8>> {
        match self.found(name, deep) {
            values if values.is_empty() => vec![vec![UNKNOWN]],
            values => values,
        }
    }

    fn found(&self, name: &[u8], deep: usize) -> Vec<Vec<u8>> {
        let Some(deep) = deep.checked_sub(1) else {
            return vec![vec![UNKNOWN]];
        };
        let assigned = self.lines.iter().flat_map(|line| assigned(line, name));
        let mut values: Vec<Vec<u8>> = assigned
            .flat_map(|value| self.expand(&value, deep))
            .take(MOST + 1)
            .collect();
        let own = std::str::from_utf8(name).ok();
        let own = own.and_then(|name| self.caller.var(name));
        values.extend(own.map(|value| value.as_bytes().to_vec()));
        values
    }
}

/// What a command in a text puts in its place: of one that looks for a program, that one.
fn command<'t>(text: &'t [u8], end: &[u8]) -> (Vec<Vec<u8>>, &'t [u8]) {
    let Some(at) = memchr::memmem::find(text, end) else {
        return (vec![vec![UNKNOWN]], &[]);
    };
    let (inside, behind) = (&text[..at], &text[at + 1..]);
    let words: Vec<&[u8]> = inside
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty() && !word.starts_with(b"2>"))
        .collect();
    let found = match words.as_slice() {
        [b"which", name] | [b"command", b"-v", name] | [b"type", b"-p", name] => name,
        _ => return (vec![vec![UNKNOWN]], behind),
    };
    match found.iter().any(|byte| b"$`\"'|;&".contains(byte)) {
        true => (vec![vec![UNKNOWN]], behind),
        false => (vec![found.to_vec()], behind),
    }
}

fn name_len(text: &[u8]) -> usize {
    let is_in = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    match text.first() {
        Some(first) if first.is_ascii_digit() => 0,
        _ => text.iter().take_while(is_in).count(),
    }
}

/// The values that a line assigns to a variable, without their quotes.
fn assigned(line: &[u8], name: &[u8]) -> Vec<Vec<u8>> {
    let begin = [name, b"="].concat();
    memchr::memmem::find_iter(line, &begin)
        .filter(|at| match at.checked_sub(1) {
            None => true,
            Some(before) => line[before].is_ascii_whitespace() || b";&|({".contains(&line[before]),
        })
        .map(|at| value(&line[at + begin.len()..]))
        .collect()
}

/// The value that a text begins with: to the first blank or end of a command that is not
/// in quotes, nor in a command of its own.
fn value(text: &[u8]) -> Vec<u8> {
    let (mut quote, mut depth) = (None, 0u32);
    let end = text.iter().position(|byte| {
        match (quote, *byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.saturating_sub(1),
            (None, byte) => return depth == 0 && (byte.is_ascii_whitespace() || byte == b';'),
        }
        false
    });
    unquoted(&text[..end.unwrap_or(text.len())])
}

fn unquoted(text: &[u8]) -> Vec<u8> {
    let is_quote = |byte: &u8| b"'\"".contains(byte);
    text.iter()
        .copied()
        .filter(|byte| !is_quote(byte))
        .collect()
}
