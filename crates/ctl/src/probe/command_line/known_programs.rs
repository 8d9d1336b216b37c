//! Known programs: language run-times, servers, and allocators inside programs. The table
//! says of each which memory `--heap` doesn't reach, the program's own switch, and the
//! options that `--auto` takes.

pub(crate) mod table;

use std::ffi::{OsStr, OsString};
use std::fs::File;

use hugetools_contract::env::Pages;
use hugetools_elf::Elf;
use hugetools_model::Root;
use hugetools_model::thp::Thp;

use crate::caller::Caller;
use crate::probe::command_line::wrappers::base;
use crate::probe::target::Opened;
use crate::request::Run;
use crate::request::thp_policy::ThpPolicy;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// What is known about a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownProgram {
    pub(crate) name: &'static str,
    /// File names; a version may follow.
    files: &'static [&'static str],
    /// How the names of libraries that it needs begin.
    needed: &'static [&'static str],
    /// Whether it has the note of Go's linker.
    is_go: bool,
    /// Its memory that does not come from malloc.
    pub(crate) memory: Option<OwnMemory>,
    /// Its own way to huge pages.
    pub(crate) own_switch: Option<&'static str>,
    /// Whether it turns transparent huge pages off for itself.
    pub(crate) bans_thp: bool,
    /// The options that `--auto` takes.
    pub(crate) auto: &'static [Choice],
    /// Why these.
    pub(crate) why: &'static str,
    /// What to look out for.
    pub(crate) beware: Option<&'static str>,
}

/// Begins an entry.
const fn program(name: &'static str, files: &'static [&'static str]) -> KnownProgram {
    KnownProgram {
        name,
        files,
        needed: &[],
        is_go: false,
        memory: None,
        own_switch: None,
        bans_thp: false,
        auto: &[],
        why: "",
        beware: None,
    }
}

impl KnownProgram {
    const fn needs(mut self, needed: &'static [&'static str]) -> Self {
        self.needed = needed;
        self
    }

    const fn is_go(mut self) -> Self {
        self.is_go = true;
        self
    }

    const fn memory(mut self, what: &'static str, anon: Reach, switch: Switch) -> Self {
        self.memory = Some(OwnMemory { what, anon, switch });
        self
    }

    const fn own_switch(mut self, own_switch: &'static str) -> Self {
        self.own_switch = Some(own_switch);
        self
    }

    const fn bans_thp(mut self) -> Self {
        self.bans_thp = true;
        self
    }

    const fn auto(mut self, auto: &'static [Choice], why: &'static str) -> Self {
        self.auto = auto;
        self.why = why;
        self
    }

    const fn beware(mut self, beware: &'static str) -> Self {
        self.beware = Some(beware);
        self
    }
}

/// Memory of a program that does not come from malloc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnMemory {
    what: &'static str,
    /// How much of it `--anon` reaches.
    anon: Reach,
    switch: Switch,
}

/// How much of some memory `--anon` reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    None,
    Part,
    All,
}

/// How it shows that the memory has huge pages already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    /// It does not show.
    None,
    /// The system gives transparent huge pages to all memory.
    ThpAlways,
    /// An environment variable contains a text.
    Variable(&'static str, &'static str),
    /// An argument begins with one of the options. Arguments may be in variables, too.
    Argument {
        options: &'static [&'static str],
        variables: &'static [&'static str],
    },
}

/// An option that `--auto` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// `--text`
    Text,
    /// `--heap`
    Heap,
    /// `--heap=thp`
    HeapThp,
    /// `--anon`
    Anon,
    /// `--shm`
    Shm,
    /// `--thp-policy=always`
    ThpAlways,
}

impl Choice {
    /// The option as typed.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Choice::Text => "--text",
            Choice::Heap => "--heap",
            Choice::HeapThp => "--heap=thp",
            Choice::Anon => "--anon",
            Choice::Shm => "--shm",
            Choice::ThpAlways => "--thp-policy=always",
        }
    }

    /// Sets the option unless it was given.
    pub(crate) fn apply(self, run: &mut Run) {
        let (option, pages) = match self {
            Choice::Text => (&mut run.segments.text, Pages::Default),
            Choice::Heap => (&mut run.heap, Pages::Default),
            Choice::HeapThp => (&mut run.heap, Pages::Thp),
            Choice::Anon => (&mut run.anon, Pages::Default),
            Choice::Shm => (&mut run.shm, Pages::Default),
            Choice::ThpAlways => {
                run.thp_policy.get_or_insert(ThpPolicy::Always);
                return;
            }
        };
        option.get_or_insert(pages);
    }
}

/// Returns the entry that matches a program.
pub(crate) fn find(opened: &Opened) -> Option<&'static KnownProgram> {
    let target = &opened.target;
    let names = [&target.path, &target.program].map(|path| base(path.as_os_str()));
    let elf = opened.elf.as_ref();
    table::PROGRAMS.iter().find(|entry| {
        let mut files = entry.files.iter();
        let is_named = files.any(|file| names.iter().any(|name| is_version_of(name, file)));
        let needs = || elf.is_some_and(|elf| entry.needed.iter().any(|name| needs(elf, name)));
        let is_go = || elf.is_some_and(|elf| matches!(elf.has_note(b"Go"), Ok(true)));
        is_named || needs() || entry.is_go && is_go()
    })
}

/// `php` and `php8.2`, but not `phpize`.
fn is_version_of(file: &[u8], name: &str) -> bool {
    let rest = file.strip_prefix(name.as_bytes());
    let in_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.' || *byte == b'-';
    rest.is_some_and(|rest| rest.iter().all(in_version))
}

fn needs(elf: &Elf<File>, prefix: &str) -> bool {
    let needed = elf.dynamic().map(|dynamic| dynamic.needed.as_slice());
    let mut needed = needed.unwrap_or_default().iter();
    needed.any(|library| library.starts_with(prefix.as_bytes()))
}

/// Memory that `--heap` does not reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Beyond {
    memory: &'static str,
    anon: Reach,
    cure: &'static str,
}

impl Beyond {
    /// Returns the memory of a known program that `--heap` doesn't reach, unless the program's
    /// own switch is set.
    pub(crate) fn of(
        known: &KnownProgram,
        command: &[OsString],
        caller: &Caller,
        root: &Root,
    ) -> Option<Beyond> {
        let memory = known.memory.as_ref()?;
        (!memory.switch.is_set(command, caller, root)).then_some(Beyond {
            memory: memory.what,
            anon: memory.anon,
            cure: known.own_switch.unwrap_or_default(),
        })
    }

    /// Whether `--anon` reaches none of it.
    pub(crate) fn is_past_anon(&self) -> bool {
        self.anon == Reach::None
    }

    /// Returns the shortfall if `--heap` or `--anon` is asked for.
    pub(crate) fn shortfall(&self, heap: bool, anon: bool) -> Option<Shortfall> {
        let memory = self.memory;
        let heap = heap && !(anon && self.anon == Reach::All);
        let (subject, fact) = match (heap, anon, self.anon) {
            (true, true, _) => (Subject::HEAP | Subject::ANON, "is not taken from malloc"),
            (true, false, _) => (Subject::HEAP, "is not taken from malloc"),
            (false, true, Reach::None | Reach::Part) => (Subject::ANON, "is the program's own"),
            _ => return None,
        };
        let reached = match (heap, anon, self.anon) {
            (true, false, _) => "--heap does not reach it",
            (true, true, Reach::Part) => "--heap does not reach it, and --anon only a part",
            (true, true, _) => "--heap does not reach it, nor does --anon",
            (false, _, Reach::Part) => "--anon reaches only a part of it",
            (false, ..) => "--anon does not reach it",
        };
        let cure = match self.anon {
            Reach::All => format!("--anon reaches it; or {}", self.cure),
            _ => self.cure.to_owned(),
        };
        let fact = format!("{memory} {fact}, so {reached}");
        Some(Shortfall::new(subject, fact).advise(cure))
    }
}

impl Switch {
    fn is_set(&self, command: &[OsString], caller: &Caller, root: &Root) -> bool {
        let value = |name: &str| caller.var(name).unwrap_or_default().to_string_lossy();
        match self {
            Switch::None => false,
            Switch::ThpAlways => is_thp_always(root),
            Switch::Variable(name, part) => {
                // Or by `env NAME=VALUE PROGRAM`.
                let is_assigned = |word: &OsString| {
                    let word = word.to_string_lossy();
                    let value = word
                        .strip_prefix(name)
                        .and_then(|rest| rest.strip_prefix('='));
                    value.is_some_and(|value| value.contains(part))
                };
                value(name).contains(part) || command.iter().any(is_assigned)
            }
            Switch::Argument { options, variables } => {
                let is_option = |word: &str| options.iter().any(|known| word.starts_with(known));
                let mut words = command.iter().map(|word| OsStr::to_string_lossy(word));
                let in_variable = |name: &&str| value(name).split_whitespace().any(is_option);
                words.any(|word| is_option(&word)) || variables.iter().any(in_variable)
            }
        }
    }
}

/// Whether all private memory may have transparent huge pages.
fn is_thp_always(root: &Root) -> bool {
    let thp = Thp::read_whole(root, false).ok().flatten();
    thp.is_some_and(|thp| {
        let of_size = thp.sizes.first().and_then(|size| size.enabled.as_deref());
        match of_size {
            None | Some("inherit") => thp.enabled.as_deref() == Some("always"),
            Some(word) => word == "always",
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_version() {
        for (file, name, expected) in [
            ("php", "php", true),
            ("php8.2", "php", true),
            ("python3.11", "python", true),
            ("phpize", "php", false),
            ("ph", "php", false),
        ] {
            assert_eq!(is_version_of(file.as_bytes(), name), expected, "{file}");
        }
    }

    #[test]
    fn each_memory_has_a_cure() {
        let entries = table::PROGRAMS.iter();
        for entry in entries.filter(|entry| entry.memory.is_some()) {
            assert!(entry.own_switch.is_some(), "{}", entry.name);
        }
    }

    #[test]
    fn memory_that_options_do_not_reach() {
        let fact = |anon: Reach, heap, with_anon| {
            let beyond = Beyond {
                memory: "it",
                anon,
                cure: "x",
            };
            beyond.shortfall(heap, with_anon).map(|short| short.fact)
        };
        let not_heap = "it is not taken from malloc, so --heap does not reach it";
        assert_eq!(fact(Reach::All, true, false).unwrap(), not_heap);
        assert_eq!(fact(Reach::All, true, true), None);
        assert_eq!(fact(Reach::All, false, true), None);
        let neither = format!("{not_heap}, nor does --anon");
        assert_eq!(fact(Reach::None, true, true).unwrap(), neither);
        let part = "it is the program's own, so --anon reaches only a part of it";
        assert_eq!(fact(Reach::Part, false, true).unwrap(), part);
    }
}
