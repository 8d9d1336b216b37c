//! Programs that are known: virtual machines, servers, and allocators inside programs. A
//! table says of each what `--heap` does not reach, the program's own switch, and what
//! `--auto` asks for.
//!
//! The table is data: `crates/ctl/share/programs.d`, with what a machine and a user add
//! to it (`catalog`). What is not reached is said before the start, unless the switch is set.

mod catalog;
pub(crate) mod entry;
mod marks;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use hugetools_elf::Elf;
use hugetools_model::thp::Thp;
use hugetools_model::units::size::Quantity;
use hugetools_model::{Bytes, Root};

use crate::caller::Caller;
use crate::probe::allocator::Own;
use crate::probe::command_line::wrapped::layers;
use crate::probe::target::{self, Opened};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

use catalog::Catalog;
use entry::{Done, Entry, Reach, Takes, Text, Word};
use marks::Examined;

/// What reaches any private memory.
const ALWAYS: &str = "hugeadm --thp-always reaches it, or hugectl --pid once it runs";

/// What is known of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// The program that it leads to by wrappers.
    pub(crate) program: Option<Entry>,
    /// What is to be said of its memory.
    pub(crate) beyond: Option<Beyond>,
    /// What of the tables cannot be used.
    pub(crate) faults: Vec<String>,
}

impl Known {
    /// Looks a command line up. `first` is what it begins with.
    pub(crate) fn find(
        command: &[OsString],
        first: &Opened,
        caller: &Caller,
        root: &Root,
    ) -> Known {
        let catalog = Catalog::read(caller);
        let lookup = Lookup {
            catalog: &catalog,
            caller,
            command,
        };
        let mut known = Known::default();
        if let Some(led) = lookup.leads_to(first, &|_| true) {
            known.program = Some(led.to.clone());
            known.beyond = match led.to.memory {
                Some(_) => lookup.beyond(&led, root),
                None => lookup.beyond_of_other(first, root),
            };
        }
        known.faults = catalog.faults;
        known
    }
}

/// What is known of a command line, or of all others where nothing is.
pub(crate) fn entry_of(
    command: &[OsString],
    first: &Opened,
    caller: &Caller,
) -> (Option<Entry>, Vec<String>) {
    let catalog = Catalog::read(caller);
    let lookup = Lookup {
        catalog: &catalog,
        caller,
        command,
    };
    let has_choice: Fits<'_> = &|entry| entry.why.is_some();
    let found = lookup.leads_to(first, has_choice).map(|led| led.to);
    let others = || catalog.entries().find(|entry| entry.is_for_others());
    (found.or_else(others).cloned(), catalog.faults)
}

impl Entry {
    /// What `--auto` takes for it, and why.
    pub(crate) fn choice(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(match self.auto.is_empty() {
            true => format!("nothing for {}: {why}", self.name),
            false => format!("{} for {}: {why}", self.auto.join(" "), self.name),
        })
    }

    /// The size that the program takes from the default pool by itself, as its command
    /// line or a variable says it; the last word that says it counts.
    pub(crate) fn takes(&self, command: &[OsString], caller: &Caller) -> Option<(Bytes, String)> {
        let Takes { with, size } = self.takes.as_ref()?;
        let words = words_for(&self.done, command, caller);
        let takes = |word: &String| with.iter().any(|option| word == option);
        let sized = |word: &String| {
            let mut values = size.iter().filter_map(|o| word.strip_prefix(o.as_ref()));
            let bytes = values.find_map(|value| value.parse::<Quantity>().ok()?.bytes().ok())?;
            Some((bytes, word.clone()))
        };
        let is_on = words.iter().any(takes);
        words.iter().rev().find_map(sized).filter(|_| is_on)
    }
}

/// The arguments of a program, behind those that it has in variables.
fn words_for(done: &Done, command: &[OsString], caller: &Caller) -> Vec<String> {
    let text = |word: &OsStr| word.to_string_lossy().into_owned();
    let variables: &[Text] = match done {
        Done::Argument { variables, .. } => variables,
        _ => &[],
    };
    let values = variables
        .iter()
        .filter_map(|name| caller.var(name).map(text));
    let words = values.chain(command.iter().skip(1).map(|word| text(word)));
    let words: Vec<String> = words.collect();
    let words = words.iter().flat_map(|words| words.split_whitespace());
    words.map(str::to_owned).collect()
}

/// Memory that is not malloc's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// What it is.
    pub(crate) memory: String,
    /// What is so.
    pub(crate) fact: String,
    /// What reaches it.
    pub(crate) instead: String,
    /// Whether `--anon` does, where that is known.
    pub(crate) by_anon: Option<bool>,
    /// Whether `--anon` reaches a part of it.
    pub(crate) in_part: bool,
}

impl Beyond {
    /// What falls short, where `--heap` or `--anon` is asked for.
    pub(crate) fn shortfall(&self, heap: bool, anon: bool) -> Option<Shortfall> {
        let past_anon = anon && (self.by_anon == Some(false) || self.in_part);
        let is_reached = anon && self.by_anon == Some(true);
        let (subject, fact) = match (heap && !is_reached, past_anon) {
            (false, false) => return None,
            (true, false) => (Subject::HEAP, self.fact.clone()),
            (false, true) => (
                Subject::ANON,
                match self.in_part {
                    true => format!("--anon reaches only a part of {}", self.memory),
                    false => format!("--anon does not reach {}", self.memory),
                },
            ),
            (true, true) => (
                Subject::HEAP | Subject::ANON,
                match self.in_part {
                    true => format!("{}, and --anon reaches only a part", self.fact),
                    false => format!("{}, nor does --anon", self.fact),
                },
            ),
        };
        Some(Shortfall::new(subject, fact).advise(&self.instead))
    }
}

/// Which entries are looked for.
type Fits<'f> = &'f dyn Fn(&Entry) -> bool;

/// A program that is known, and how it is come to.
struct Led<'e> {
    to: &'e Entry,
    /// By which words.
    by: Vec<OsString>,
}

struct Lookup<'e> {
    catalog: &'e Catalog,
    caller: &'e Caller,
    /// All of the command line.
    command: &'e [OsString],
}

impl<'e> Lookup<'e> {
    /// The innermost program that an entry fits.
    fn leads_to(&self, first: &Opened, which: Fits<'_>) -> Option<Led<'e>> {
        let is_program = |name: &OsStr| target::is_program(name, self.caller);
        let layers = layers(self.command, &is_program).enumerate();
        let found = layers.filter_map(|(at, by)| {
            let to = match at {
                0 => self.of_target(first, which),
                _ => self.of_target(&target::open(by.first()?, self.caller).ok()?, which),
            };
            let by = by.to_vec();
            to.map(|to| Led { to, by })
        });
        found.last()
    }

    fn of_target(&self, Opened { target, elf }: &Opened, which: Fits<'_>) -> Option<&'e Entry> {
        let program = || self.find(&target.program, elf.as_ref(), which);
        match target.program == target.path {
            true => program(),
            // What leads to a program is a text, known by its name alone.
            false => self.find(&target.path, None, which).or_else(program),
        }
    }

    fn find(&self, program: &Path, elf: Option<&Elf<File>>, which: Fits<'_>) -> Option<&'e Entry> {
        if self.is_hugectl(program) {
            return None;
        }
        let program = Examined::new(program, elf);
        let mut all = self.catalog.entries();
        all.find(|entry| which(entry) && program.fits(entry))
    }

    /// Whether it is hugectl once more, which has the marks of all programs in it.
    fn is_hugectl(&self, program: &Path) -> bool {
        let file = std::fs::canonicalize(program).ok();
        file.is_some() && file == self.caller.exe
    }

    /// What is to be said where what is known of the program is nothing about its memory.
    fn beyond_of_other(&self, first: &Opened, root: &Root) -> Option<Beyond> {
        let has_memory: Fits<'_> = &|entry| entry.memory.is_some();
        self.beyond(&self.leads_to(first, has_memory)?, root)
    }

    /// What is to be said of its memory, unless its own switch is set.
    fn beyond(&self, Led { to, by }: &Led<'_>, root: &Root) -> Option<Beyond> {
        let (memory, own) = (to.memory.as_ref()?, to.own.as_ref()?);
        let is_done = is_done(&to.done, by, self.caller, root) || self.sets(&to.done, by);
        (!is_done).then(|| Beyond {
            memory: memory.to_string(),
            fact: format!("{memory} is not taken from malloc, so --heap does not reach it"),
            instead: match to.anon {
                Some(Reach::All(true)) => format!("--anon reaches it; or {own}"),
                _ => own.to_string(),
            },
            by_anon: match to.anon {
                Some(Reach::All(all)) => Some(all),
                Some(Reach::Some(_)) | None => None,
            },
            in_part: matches!(to.anon, Some(Reach::Some(_))),
        })
    }

    /// Whether what comes before the words of a program sets the variable, as `env` does.
    fn sets(&self, done: &Done, by: &[OsString]) -> bool {
        let Done::Variable { variable, has } = done else {
            return false;
        };
        let before = self.command.len().saturating_sub(by.len());
        self.command[..before].iter().any(|word| {
            let word = word.to_string_lossy();
            let set = word.strip_prefix(variable.as_ref());
            let value = set.and_then(|rest| rest.strip_prefix('='));
            value.is_some_and(|value| value.contains(has.as_ref()))
        })
    }
}

/// Whether a variable has a part in its value.
fn is_set(name: &str, part: &str, caller: &Caller) -> bool {
    let value = caller.var(name).unwrap_or_default();
    value.to_string_lossy().contains(part)
}

/// Whether the memory is reached already.
fn is_done(done: &Done, command: &[OsString], caller: &Caller, root: &Root) -> bool {
    match done {
        Done::Never => false,
        Done::Word(Word::ThpAlways) => is_always(root),
        Done::Variable { variable, has } => is_set(variable, has, caller),
        Done::Argument { arguments, .. } => {
            let is_option = |word: &String| {
                let mut options = arguments.iter();
                options.any(|option| word.starts_with(option.as_ref()))
            };
            words_for(done, command, caller).iter().any(is_option)
        }
    }
}

/// Where jemalloc is told of huge pages.
const JEMALLOC: (&str, &str) = ("MALLOC_CONF", "thp:always");

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
    (is_jemalloc && !is_set(JEMALLOC.0, JEMALLOC.1, caller)).then(|| Beyond {
        memory: "what jemalloc hands out".to_owned(),
        fact: "jemalloc takes transparent huge pages only when it is told to".to_owned(),
        instead: format!("--anon reaches it; or {TO_JEMALLOC}"),
        by_anon: Some(true),
        in_part: false,
    })
}

/// What is to be said where `new` is taken from this library.
pub(crate) fn of_new(by: &Path, caller: &Caller, root: &Root) -> Option<Beyond> {
    let name = by.display().to_string();
    let (is_done, own) = match name.contains("jemalloc") {
        true => (is_set(JEMALLOC.0, JEMALLOC.1, caller), TO_JEMALLOC),
        false => (is_always(root), ALWAYS),
    };
    // tcmalloc takes its memory by sbrk.
    let by_anon = ["jemalloc", "tcmalloc"].iter().any(|it| name.contains(it));
    let instead = match by_anon {
        true => format!("--anon reaches it; or {own}"),
        false => own.to_owned(),
    };
    (!is_done).then(|| Beyond {
        memory: format!("what {name} hands out"),
        fact: format!("what new hands out is taken from {name}, so --heap does not reach it"),
        instead,
        by_anon: by_anon.then_some(true),
        in_part: false,
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
