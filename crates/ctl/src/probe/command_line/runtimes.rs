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
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let behind = || {
        layers(command, &is_program).skip(1).find_map(|command| {
            let opened = target::open(command.first()?, caller).ok()?;
            Some((of_target(&opened)?, command))
        })
    };
    let here = of_target(first).map(|found| (found, command));
    let (found, arguments) = here.or_else(behind)?;
    (!is_done(found.done, arguments, caller, root)).then(|| Beyond {
        known: Some(found.name),
        fact: format!(
            "{} is not taken from malloc, so --heap does not reach it",
            found.memory
        ),
        instead: found.instead.to_owned(),
    })
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
