//! Programs whose memory is not malloc's: virtual machines, and allocators that
//! ask the kernel themselves. What `--heap` does not reach of them is said before
//! the start, with the program's own switch, unless that is set.

mod marks;
mod table;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use hugetools_elf::Elf;
use hugetools_model::Root;
use hugetools_model::thp::Thp;

use crate::caller::Caller;
use crate::probe::allocator::Own;
use crate::probe::command_line::shell_script::{End, Script};
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

/// What a command line leads to, as far as its memory goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Memory {
    /// As far as can be seen, malloc's.
    Malloc,
    /// Not malloc's.
    Beyond(Beyond),
    /// That of a program which a script has in a variable that cannot be read from its
    /// text.
    Unread {
        /// The script.
        script: PathBuf,
        /// The word that names the program.
        word: String,
    },
}

/// What is to be said of a command line: of its program, or of one that it
/// leads to by wrappers and scripts. `first` is what it begins with.
pub(crate) fn memory(command: &[OsString], first: &Opened, caller: &Caller, root: &Root) -> Memory {
    let Led { to, by, scripts } = match leads_to(command, Some(first), caller, DEEPEST) {
        Way::To(led) => led,
        Way::Nowhere => return Memory::Malloc,
        Way::Unread { script, word } => return Memory::Unread { script, word },
    };
    let is_spoken_of = |text: &&str| scripts.iter().any(|script| script.has(text));
    let is_left_to_script = match to.done {
        Done::Never | Done::Always => false,
        Done::Variable(name, _) => is_spoken_of(&name),
        Done::Argument(options, _) => options.iter().any(is_spoken_of),
    };
    match is_left_to_script || is_done(to.done, &by, caller, root) {
        true => Memory::Malloc,
        false => Memory::Beyond(Beyond {
            known: Some(to.name),
            fact: format!(
                "{} is not taken from malloc, so --heap does not reach it",
                to.memory
            ),
            instead: to.instead.to_owned(),
        }),
    }
}

/// So many scripts may lead from one to the next.
const DEEPEST: usize = 4;

/// Where a command line leads to.
enum Way {
    /// A program that is known.
    To(Led),
    /// One that is not.
    Nowhere,
    /// What this script has in a variable.
    Unread { script: PathBuf, word: String },
}

/// A program that is known, and how it is come to.
struct Led {
    to: &'static Runtime,
    /// By which words.
    by: Vec<OsString>,
    scripts: Vec<Script>,
}

fn leads_to(command: &[OsString], first: Option<&Opened>, caller: &Caller, deep: usize) -> Way {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let ways = layers(command, &is_program).enumerate().map(|(at, words)| {
        match first.filter(|_| at == 0) {
            Some(opened) => of_opened(opened, words, caller, deep),
            None => match words.first().map(|name| target::open(name, caller)) {
                Some(Ok(opened)) => of_opened(&opened, words, caller, deep),
                _ => Way::Nowhere,
            },
        }
    });
    let mut ways = ways.filter(|way| !matches!(way, Way::Nowhere));
    ways.next().unwrap_or(Way::Nowhere)
}

fn of_opened(opened: &Opened, words: &[OsString], caller: &Caller, deep: usize) -> Way {
    if let Some(to) = of_target(opened) {
        let (by, scripts) = (words.to_vec(), Vec::new());
        return Way::To(Led { to, by, scripts });
    }
    let (Some(script), Some(deep)) = (Script::of(&opened.target, words), deep.checked_sub(1))
    else {
        return Way::Nowhere;
    };
    let path = || opened.target.path.clone();
    match script.end(caller) {
        End::Nothing => Way::Nowhere,
        End::Unread(word) => Way::Unread {
            script: path(),
            word,
        },
        End::Commands(commands) => match of_all(&commands, caller, deep) {
            Way::To(mut led) => {
                led.scripts.push(script);
                Way::To(led)
            }
            way => way,
        },
    }
}

/// Where each of some commands leads to, as far as there are such programs; nowhere, if
/// they do not agree.
fn of_all(commands: &[Vec<OsString>], caller: &Caller, deep: usize) -> Way {
    let is_there = |command: &&Vec<OsString>| {
        let name = command.first();
        commands.len() == 1 || name.is_some_and(|name| target::is_program(name, caller))
    };
    let ways = commands.iter().filter(is_there);
    let mut ways = ways.map(|command| leads_to(command, None, caller, deep));
    let first = ways.next().unwrap_or(Way::Nowhere);
    let is_same = |way: Way| match (&first, way) {
        (Way::To(one), Way::To(other)) => std::ptr::eq(one.to, other.to),
        (Way::Nowhere, Way::Nowhere) => true,
        _ => false,
    };
    match ways.all(is_same) {
        true => first,
        false => Way::Nowhere,
    }
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
