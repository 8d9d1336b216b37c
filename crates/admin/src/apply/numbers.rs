//! Numbers and words in kernel files.

use hugetools_model::hugetlb::pool::{pool_dir, surplus_path};
use hugetools_model::{FileError, KPath, Root, thp};

use super::Run;
use crate::plan::shell::USED;
use crate::report::{Failure, Outcome};
use crate::step::{NumberKind, SelectWord, Value, Write, included_surplus};

impl Run<'_> {
    pub(super) fn write(&mut self, write: &Write) -> Result<Outcome, Failure> {
        let asked = value(write, self.root, &|file| number(file, self.root))?;
        let before = number(&write.path, self.root)?;
        if before == asked {
            let excess = self.excess_surplus(write, asked);
            return Ok(excess.unwrap_or_else(|| Outcome::unchanged(before)));
        }
        if let NumberKind::Pages(pages) = &write.kind {
            return self.resize(write, pages, before, asked);
        }
        self.root.write(&write.path, &asked.to_string())?;
        let got = number(&write.path, self.root)?;
        match got == asked {
            true => {
                let excess = self.excess_surplus(write, asked);
                Ok(excess.unwrap_or_else(|| Outcome::changed(before, got)))
            }
            false => Err(not_as_written(&write.path, asked, got)),
        }
    }

    /// Reports surplus pages in use beyond a new limit. The kernel doesn't take them back.
    fn excess_surplus(&self, write: &Write, asked: u64) -> Option<Outcome> {
        let NumberKind::Overcommit { size, is_limit } = write.kind else {
            return None;
        };
        if !is_limit || !self.root.has_kernel() {
            return None;
        }
        let surplus = self.root.number_opt(&surplus_path(size)).ok().flatten()?;
        (surplus > asked).then(|| Outcome::Short {
            asked,
            got: surplus,
            tried: Vec::new(),
            interrupted: false,
        })
    }
}

/// Computes the number to write.
pub(crate) fn value(
    write: &Write,
    root: &Root,
    number: &dyn Fn(&KPath) -> Result<u64, FileError>,
) -> Result<u64, FileError> {
    match &write.value {
        Value::Plain(number) => Ok(*number),
        Value::AtLeast(least) => Ok(number(&write.path)?.max(*least)),
        Value::Remainder { total, minus } => minus
            .iter()
            .try_fold(*total, |rest, file| Ok(rest.saturating_sub(number(file)?))),
        Value::AtMostUsed(size) => {
            let of = |file| root.number(&pool_dir(*size).join(file));
            let [all, free, reserved] = USED.map(of);
            let used = all?.saturating_sub(free?).saturating_add(reserved?);
            Ok(number(&write.path)?.min(used))
        }
    }
}

/// Reads the number in a file. On a live kernel, subtracts surplus pages: the file includes them
/// when read, but not when written.
pub(crate) fn number(path: &KPath, root: &Root) -> Result<u64, FileError> {
    let number = root.number(path)?;
    match included_surplus(path) {
        Some(surplus) if root.has_kernel() => {
            let surplus = root.number_opt(&surplus)?.unwrap_or(0);
            Ok(number.saturating_sub(surplus))
        }
        _ => Ok(number),
    }
}

pub(super) fn select_word(select: &SelectWord, root: &Root) -> Result<Outcome, Failure> {
    let now =
        || -> Result<String, FileError> { thp::marked(&select.path, &root.read(&select.path)?) };
    let before = now()?;
    if before == select.word {
        return Ok(Outcome::unchanged(before));
    }
    root.write(&select.path, &word_to_write(select, root)?)?;
    let got = now()?;
    match got == select.word {
        true => Ok(Outcome::changed(before, got)),
        false => Err(not_as_written(&select.path, &select.word, got)),
    }
}

/// Returns the text to write: the word, or in a recorded tree the list with the word marked.
fn word_to_write(select: &SelectWord, root: &Root) -> Result<String, FileError> {
    let now = root.read(&select.path)?;
    let now = String::from_utf8_lossy(&now);
    if root.has_kernel() || !now.contains('[') {
        return Ok(select.word.clone());
    }
    let words = now
        .split_whitespace()
        .map(|word| word.trim_matches(['[', ']']));
    let words = words.map(|word| match word == select.word {
        true => format!("[{word}]"),
        false => word.to_owned(),
    });
    Ok(words.collect::<Vec<_>>().join(" "))
}

fn not_as_written(
    file: impl std::fmt::Display,
    asked: impl std::fmt::Display,
    got: impl std::fmt::Display,
) -> Failure {
    Failure {
        written: Some(asked.to_string()),
        errno: None,
        error: format!("wrote {asked} to {file}, but read back {got}"),
    }
}
