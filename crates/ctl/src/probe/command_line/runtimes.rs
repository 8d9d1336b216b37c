//! Programs whose memory is not malloc's: virtual machines, and allocators that
//! ask the kernel themselves. What `--heap` does not reach of them is said before
//! the start, with the program's own switch, unless that is set.

mod marks;
mod table;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use hugetools_elf::Elf;
use hugetools_model::Root;
use hugetools_model::thp::Thp;

use crate::caller::Caller;
use crate::probe::allocator::Own;
use crate::probe::command_line::shell_script::Script;
use crate::probe::command_line::wrapped::layers;
use crate::probe::target::{self, Opened};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

use marks::Examined;
use table::{Done, RUNTIMES, Runtime};

/// Memory that is not malloc's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// By which name the program is known, if it is.
    pub known: Option<&'static str>,
    /// What is so.
    pub(crate) fact: String,
    /// What reaches it.
    pub(crate) instead: String,
}

impl Beyond {
    /// What falls short.
    pub(crate) fn shortfall(&self) -> Shortfall {
        Shortfall::new(Subject::HEAP, &self.fact).advise(&self.instead)
    }
}

/// What is to be said of a command line: of its program, or of one that it
/// leads to by wrappers and scripts. `first` is what it begins with.
pub(crate) fn beyond(
    command: &[OsString],
    first: &Opened,
    caller: &Caller,
    root: &Root,
) -> Option<Beyond> {
    let Led { to, by, scripts } = leads_to(command, Some(first), caller, DEEPEST)?;
    let is_spoken_of = |text: &&str| scripts.iter().any(|script| script.has(text));
    let is_left_to_script = match to.done {
        Done::Never | Done::Always => false,
        Done::Variable(name, _) => is_spoken_of(&name),
        Done::Argument(options, _) => options.iter().any(is_spoken_of),
    };
    (!is_left_to_script && !is_done(to.done, &by, caller, root)).then(|| Beyond {
        known: Some(to.name),
        fact: format!(
            "{} is not taken from malloc, so --heap does not reach it",
            to.memory
        ),
        instead: to.instead.to_owned(),
    })
}

/// So many scripts may lead from one to the next.
const DEEPEST: usize = 4;

/// Where a command line leads to.
struct Led {
    to: &'static Runtime,
    /// By which words.
    by: Vec<OsString>,
    scripts: Vec<Script>,
}

fn leads_to(
    command: &[OsString],
    first: Option<&Opened>,
    caller: &Caller,
    deep: usize,
) -> Option<Led> {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    layers(command, &is_program)
        .enumerate()
        .find_map(|(at, words)| match first.filter(|_| at == 0) {
            Some(opened) => of_opened(opened, words, caller, deep),
            None => {
                let opened = target::open(words.first()?, caller).ok()?;
                of_opened(&opened, words, caller, deep)
            }
        })
}

fn of_opened(opened: &Opened, words: &[OsString], caller: &Caller, deep: usize) -> Option<Led> {
    if let Some(to) = of_target(opened) {
        let (by, scripts) = (words.to_vec(), Vec::new());
        return Some(Led { to, by, scripts });
    }
    let script = Script::of(&opened.target, words)?;
    let mut led = leads_to(&script.end()?, None, caller, deep.checked_sub(1)?)?;
    led.scripts.push(script);
    Some(led)
}

fn of_target(Opened { target, elf }: &Opened) -> Option<&'static Runtime> {
    let program = || find(&target.program, elf.as_ref());
    match target.program == target.path {
        true => program(),
        // What leads to a program is a text, known by its name alone.
        false => find(&target.path, None).or_else(program),
    }
}

fn find(program: &Path, elf: Option<&Elf<File>>) -> Option<&'static Runtime> {
    let program = Examined::new(program, elf);
    let mut all = RUNTIMES.iter();
    all.find(|runtime| runtime.by.iter().any(|by| program.is(by)))
}

/// Whether a variable says so.
fn is_set(done: Done, caller: &Caller) -> bool {
    let Done::Variable(name, part) = done else {
        return false;
    };
    let value = caller.var(name).unwrap_or_default();
    value.to_string_lossy().contains(part)
}

/// Whether the memory is reached already.
fn is_done(done: Done, command: &[OsString], caller: &Caller, root: &Root) -> bool {
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    let value = |name: &str| caller.var(name).map(text).unwrap_or_default();
    match done {
        Done::Never => false,
        Done::Always => is_always(root),
        Done::Variable(..) => is_set(done, caller),
        Done::Argument(options, variables) => {
            let in_variables = variables.iter().map(|name| value(name));
            let words = in_variables.chain(command.iter().skip(1).map(|word| text(word)));
            let is_option = |word: &str| options.iter().any(|option| word.starts_with(option));
            words
                .into_iter()
                .any(|words| words.split_whitespace().any(is_option))
        }
    }
}

const JEMALLOC: Done = Done::Variable("MALLOC_CONF", "thp:always");

const TO_JEMALLOC: &str = "MALLOC_CONF=thp:always in its environment";

/// What is to be said where a program keeps an allocator that has a switch.
pub(crate) fn own_switch(own: &Own, caller: &Caller) -> Option<Beyond> {
    let is_jemalloc = matches!(
        own,
        Own::Called {
            is_jemalloc: true,
            ..
        }
    );
    (is_jemalloc && !is_set(JEMALLOC, caller)).then(|| Beyond {
        known: None,
        fact: "jemalloc takes transparent huge pages only when it is told to".to_owned(),
        instead: TO_JEMALLOC.to_owned(),
    })
}

/// What is to be said where `new` is taken from this library.
pub(crate) fn of_new(by: &Path, caller: &Caller, root: &Root) -> Option<Beyond> {
    let name = by.display().to_string();
    let (done, instead) = match name.contains("jemalloc") {
        true => (JEMALLOC, TO_JEMALLOC),
        false => (Done::Always, table::ALWAYS),
    };
    (!is_done(done, &[], caller, root)).then(|| Beyond {
        known: None,
        fact: format!("what new hands out is taken from {name}, so --heap does not reach it"),
        instead: instead.to_owned(),
    })
}

/// Whether all private memory may have transparent huge pages, unasked.
fn is_always(root: &Root) -> bool {
    let Ok(Some(thp)) = Thp::read_whole(root, false) else {
        return false;
    };
    let of_size = thp.sizes.first().and_then(|size| size.enabled.as_deref());
    match of_size {
        None | Some("inherit") => thp.enabled.as_deref() == Some("always"),
        Some(word) => word == "always",
    }
}

#[cfg(test)]
mod tests;
