//! Known programs: language run-times and servers. For each, the table has the memory that
//! `--heap` doesn't reach, the program's own switch, and the options that `--auto` chooses.

pub(crate) mod table;

use std::ffi::OsString;

use hugetools_contract::env::Pages;
use hugetools_elf::Elf;
use hugetools_model::Root;
use hugetools_model::thp::Thp;

use crate::caller::Caller;
use crate::probe::command_line::wrappers::file_name;
use crate::probe::kernel::Wants;
use crate::probe::target::Opened;
use crate::request::Run;
use crate::request::thp_policy::ThpPolicy;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownProgram {
    pub(crate) name: &'static str,
    /// File names; a version may follow.
    files: &'static [&'static str],
    /// Prefixes of the names of libraries that it needs.
    needed: &'static [&'static str],
    /// Whether the entry matches every program with the note of Go's linker.
    is_go: bool,
    pub(crate) memory: Option<OwnMemory>,
    /// Its own option for huge pages, or another way to reach its memory.
    pub(crate) advice: Option<&'static str>,
    /// Whether it turns transparent huge pages off for itself.
    pub(crate) bans_thp: bool,
    pub(crate) auto: &'static [Choice],
    pub(crate) why: &'static str,
    /// A warning.
    pub(crate) caveat: Option<&'static str>,
}

/// Begins an entry.
const fn program(name: &'static str, files: &'static [&'static str]) -> KnownProgram {
    KnownProgram {
        name,
        files,
        needed: &[],
        is_go: false,
        memory: None,
        advice: None,
        bans_thp: false,
        auto: &[],
        why: "",
        caveat: None,
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

    const fn memory(mut self, what: &'static str, anon: Reach, served_if: ServedIf) -> Self {
        self.memory = Some(OwnMemory {
            what,
            anon,
            served_if,
        });
        self
    }

    const fn advice(mut self, advice: &'static str) -> Self {
        self.advice = Some(advice);
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

    const fn caveat(mut self, caveat: &'static str) -> Self {
        self.caveat = Some(caveat);
        self
    }
}

/// Memory of a program that does not come from malloc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OwnMemory {
    what: &'static str,
    anon: Reach,
    served_if: ServedIf,
}

/// How much of the memory `--anon` reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    None,
    Part,
    All,
}

/// Evidence that the memory has huge pages already, or comes from malloc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServedIf {
    /// The system gives transparent huge pages to all memory.
    ThpAlways,
    /// One of these is in an argument or in the environment.
    Words(&'static [&'static str]),
}

/// An option that `--auto` chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    Text,
    Heap,
    /// `--heap=thp`
    HeapThp,
    Anon,
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

    /// Sets the option unless it is in `given`, the options and inherited variables.
    pub(crate) fn apply(self, run: &mut Run, given: &Wants) {
        let (option, given, pages) = match self {
            Choice::Text => (&mut run.segments.text, given.text, Pages::Default),
            Choice::Heap => (&mut run.heap, given.heap, Pages::Default),
            Choice::HeapThp => (&mut run.heap, given.heap, Pages::Thp),
            Choice::Anon => (&mut run.anon, given.anon, Pages::Default),
            Choice::Shm => (&mut run.shm, given.shm, Pages::Default),
            Choice::ThpAlways => {
                run.thp_policy.get_or_insert(ThpPolicy::Always);
                return;
            }
        };
        if given.is_none() {
            *option = Some(pages);
        }
    }
}

/// Returns the entry that matches a program.
pub(crate) fn find(opened: &Opened) -> Option<&'static KnownProgram> {
    let target = &opened.target;
    let names = [&target.path, &target.program].map(|path| file_name(path.as_os_str()));
    let elf = opened.elf.as_ref();
    table::PROGRAMS.iter().find(|entry| {
        let mut files = entry.files.iter();
        let is_named = files.any(|file| names.iter().any(|name| is_version_of(name, file)));
        let needs = || elf.is_some_and(|elf| entry.needed.iter().any(|name| needs(elf, name)));
        let is_go = || elf.is_some_and(|elf| matches!(elf.has_note(b"Go"), Ok(true)));
        is_named || needs() || entry.is_go && is_go()
    })
}

/// Whether a file has this name, perhaps with a version: `php8.2`, but not `phpize`.
fn is_version_of(file: &[u8], name: &str) -> bool {
    let rest = file.strip_prefix(name.as_bytes());
    let in_version = |byte: &u8| byte.is_ascii_digit() || *byte == b'.' || *byte == b'-';
    rest.is_some_and(|rest| rest.iter().all(in_version))
}

fn needs(elf: &Elf, prefix: &str) -> bool {
    let needed = elf.dynamic().map(|dynamic| dynamic.needed.as_slice());
    let mut needed = needed.unwrap_or_default().iter();
    needed.any(|library| library.starts_with(prefix.as_bytes()))
}

impl KnownProgram {
    /// Whether it has memory that `--heap` doesn't reach, without [`ServedIf`].
    pub(crate) fn has_own_memory(
        &self,
        command: &[OsString],
        caller: &Caller,
        root: &Root,
    ) -> bool {
        match self.memory.map(|memory| memory.served_if) {
            None => false,
            Some(ServedIf::ThpAlways) => {
                let thp = Thp::read(root).ok().flatten();
                thp.is_none_or(|thp| thp.enabled.as_deref() != Some("always"))
            }
            Some(ServedIf::Words(words)) => !command.iter().chain(&caller.env).any(|text| {
                let text = text.to_string_lossy();
                words.iter().any(|word| text.contains(word))
            }),
        }
    }

    /// Whether `--anon` reaches none of its own memory.
    pub(crate) fn anon_reaches_none(&self) -> bool {
        self.memory.is_some_and(|memory| memory.anon == Reach::None)
    }

    /// Returns the shortfall if `--heap` or `--anon` is requested and doesn't reach all its memory.
    pub(crate) fn shortfall(&self, heap: bool, anon: bool) -> Option<Shortfall> {
        let OwnMemory {
            what, anon: reach, ..
        } = self.memory?;
        let (subject, reached) = match (heap, anon, reach) {
            (false, false, _) | (_, true, Reach::All) => return None,
            (true, false, _) => (Subject::HEAP, "--heap does not reach it"),
            (_, true, Reach::Part) => (Subject::ANON, "--anon reaches only a part of it"),
            (_, true, Reach::None) => (Subject::ANON, "--anon does not reach it"),
        };
        let subject = match heap {
            true => subject | Subject::HEAP,
            false => subject,
        };
        let cure = self.advice.unwrap_or_default();
        let cure = match reach {
            Reach::All => format!("--anon reaches it; or {cure}"),
            Reach::Part | Reach::None => cure.to_owned(),
        };
        let fact = format!("{what} is not taken from malloc, so {reached}");
        Some(Shortfall::new(subject, fact).advise(cure))
    }
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
    fn memory_that_options_do_not_reach() {
        for (anon, with_heap, with_anon, reached) in [
            (Reach::All, true, false, Some("so --heap does not reach it")),
            (Reach::All, true, true, None),
            (
                Reach::Part,
                true,
                true,
                Some("so --anon reaches only a part of it"),
            ),
            (
                Reach::None,
                false,
                true,
                Some("so --anon does not reach it"),
            ),
            (Reach::None, false, false, None),
        ] {
            let known = program("x", &[]).memory("it", anon, ServedIf::ThpAlways);
            let short = known.shortfall(with_heap, with_anon);
            let fact = short.map(|short| short.fact);
            let expected = reached.map(|reached| format!("it is not taken from malloc, {reached}"));
            assert_eq!(fact, expected);
        }
    }
}
