//! The plan of a start: variables, program, prediction. It prints as equivalent shell commands.

mod file_notes;
mod make;
mod prediction;
mod reasons;
mod required;

pub(crate) use file_notes::{describe, static_text_not_huge};
pub use make::make;
pub(crate) use prediction::{Row, Rung};
pub(crate) use required::Required;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use hugetools_contract::env::{PID, REQUIRE, RESTRICT_EXE, STARTER};
use hugetools_contract::ledger::Kind;
use hugetools_model::Head;
use serde::Serialize;

use crate::probe::coverage::page_cache::TextFile;
use crate::probe::heap_engine::Engine;
use crate::request::thp_policy::ThpPolicy;
use crate::say::note::{Level, Note};
use crate::say::subject::Subject;
use crate::shell::quote;
use crate::wait::ReportDestination;

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// This text.
    Text(OsString),
    /// The ID of the process that becomes the program; `$$` in the shell.
    Process,
    /// The same ID, a colon and this text.
    ProcessAnd(OsString),
}

impl Value {
    /// Returns the value with this process ID.
    pub(crate) fn with(&self, process: &str) -> OsString {
        match self {
            Value::Text(text) => text.clone(),
            Value::Process => process.into(),
            Value::ProcessAnd(text) => [OsStr::new(process), text].join(OsStr::new(":")),
        }
    }
}

/// The program that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// Its arguments, beginning with its name.
    pub(crate) argv: Vec<OsString>,
    /// Whether it is a script that the shell runs if `execve(2)` fails with ENOEXEC.
    pub(crate) is_text: bool,
    /// Why the kernel may refuse to execute it; printed if it does.
    pub(crate) exec_hint: Option<String>,
}

/// The plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The variables, in the order of the classic tool.
    pub variables: Vec<Variable>,
    /// The program; `None` in a dry run of options alone.
    pub(crate) program: Option<Program>,
    pub(crate) engine: Engine,
    pub(crate) rows: Vec<Row>,
    pub(crate) required: Vec<Required>,
    /// Why the program is not started, one line for each required segment.
    pub refusals: Vec<String>,
    /// Messages.
    pub notes: Vec<Note>,
    /// The destination of the report, if hugectl waits for the program.
    pub report: Option<ReportDestination>,
    /// Whether anything is requested.
    pub asks: bool,
    pub(crate) thp_policy: Option<ThpPolicy>,
    /// The embedded library to write to disk.
    pub(crate) library: Option<Bundled>,
    /// Files whose text to put on huge pages of the page cache.
    pub(crate) text: Vec<TextFile>,
    /// Whether text has no other huge pages than those of the page cache, as in a static program.
    pub(crate) text_needs_page_cache: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bundled {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    /// The rest of `LD_PRELOAD`.
    pub(crate) rest: OsString,
}

impl Plan {
    /// Whether `--require` is set.
    pub(crate) fn requires(&self) -> bool {
        let mut variables = self.variables.iter();
        variables.any(|variable| variable.name == REQUIRE)
    }

    /// Whether the libraries may print warnings beyond hugectl's.
    pub(crate) fn libraries_may_warn(&self) -> bool {
        self.variables.iter().any(|variable| match variable.name {
            STARTER | RESTRICT_EXE => true,
            PID => variable.value == Value::Process,
            _ => false,
        })
    }

    /// Returns the kinds of messages that the plan's warnings cover, as bits of [`Kind`].
    pub(crate) fn warned_kinds(&self) -> u64 {
        const KINDS: [(Subject, Kind); 6] = [
            (Subject::HEAP, Kind::Heap),
            (Subject::SHM, Kind::Shm),
            (Subject::TEXT, Kind::Text),
            (Subject::DATA, Kind::Data),
            (Subject::ANON, Kind::Mappings),
            (Subject::STACK, Kind::Stacks),
        ];
        let notes = self.notes.iter();
        let warnings = notes.filter(|note| note.level == Level::Warning);
        let shorts = warnings.filter_map(|note| note.shortfall.as_ref());
        let warned = shorts.fold(Subject::NONE, |all, short| all | short.subject);
        let kinds = KINDS.iter().filter(|(subject, _)| warned.meets(*subject));
        kinds.fold(0, |bits, (_, kind)| bits | kind.bit())
    }

    /// Returns the shell commands: a line `NAME='value'` for each variable, as the classic
    /// tool prints them, then `export` and `exec`.
    pub fn to_shell(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for variable in &self.variables {
            out.extend(variable.name.bytes());
            out.push(b'=');
            match &variable.value {
                Value::Text(text) => quote(&mut out, text),
                Value::Process => out.extend(b"$$"),
                Value::ProcessAnd(text) => {
                    out.extend(b"$$:");
                    quote(&mut out, text);
                }
            }
            out.push(b'\n');
        }
        if !self.variables.is_empty() {
            out.extend(b"export");
            for variable in &self.variables {
                out.push(b' ');
                out.extend(variable.name.bytes());
            }
            out.push(b'\n');
        }
        if let Some(program) = &self.program {
            out.extend(b"exec");
            let name = program.argv.first();
            if name.is_some_and(|name| name.as_bytes().starts_with(b"-")) {
                out.extend(b" --");
            }
            for argument in &program.argv {
                out.push(b' ');
                quote(&mut out, argument);
            }
            out.push(b'\n');
        }
        out
    }

    /// Returns the plan as one line of JSON. Bytes that are not UTF-8 become U+FFFD.
    pub fn to_json(&self) -> String {
        let lossy = |text: &OsStr| text.to_string_lossy().into_owned();
        let variables = self.variables.iter();
        let value = |variable: &Variable| lossy(&variable.value.with("$$"));
        let variables: serde_json::Map<_, _> = variables
            .map(|variable| (variable.name.to_owned(), value(variable).into()))
            .collect();
        let program = self.program.as_ref();
        let texts = |level| {
            let notes = self.notes.iter().filter(move |note| note.level == level);
            notes.map(|note| note.text.as_str())
        };
        let mut head = Head::new("hugectl");
        head.warnings
            .extend(texts(Level::Warning).map(str::to_owned));
        head.warnings.extend(self.refusals.iter().cloned());
        let document = Document {
            head,
            environment: variables,
            program: program.map(|program| lossy(program.path.as_os_str())),
            arguments: program.map(|program| program.argv.iter().map(|a| lossy(a)).collect()),
            heap_engine: self.engine,
            notes: texts(Level::Info).collect(),
        };
        let json = serde_json::to_string(&document);
        debug_assert!(json.is_ok(), "its keys are texts");
        json.unwrap_or_default() + "\n"
    }
}

/// A plan as JSON. hugetools-json(7) describes the fields.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head,
    environment: serde_json::Map<String, serde_json::Value>,
    program: Option<String>,
    arguments: Option<Vec<String>>,
    heap_engine: Engine,
    notes: Vec<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    fn plan(variables: &[(&'static str, &str)], argv: &[&[u8]]) -> Plan {
        let variable = |(name, value): &(&'static str, &str)| Variable {
            name,
            value: Value::Text(value.into()),
        };
        let argv: Vec<_> = argv
            .iter()
            .map(|a| OsString::from_vec(a.to_vec()))
            .collect();
        Plan {
            variables: variables.iter().map(variable).collect(),
            program: argv.first().cloned().map(|path| Program {
                path: path.into(),
                argv,
                is_text: false,
                exec_hint: None,
            }),
            ..Plan::default()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// `sh` passes on all arguments unchanged.
        #[test]
        fn the_shell_reads_back_what_is_quoted(
            value in "[^\0]{0,20}",
            arguments in prop::collection::vec(prop::collection::vec(1u8..=255, 0..12), 0..4),
        ) {
            let mut argv: Vec<&[u8]> = vec![b"/usr/bin/printf", b"%s\\0"];
            argv.extend(arguments.iter().map(Vec::as_slice));
            let shell = plan(&[("HUGETLB_TEST", &value)], &argv).to_shell();
            let output = Command::new("sh").arg("-c").arg(OsString::from_vec(shell)).output().unwrap();
            let mut expected: Vec<u8> = Vec::new();
            for argument in &arguments {
                expected.extend(argument);
                expected.push(0);
            }
            if arguments.is_empty() {
                expected.push(0);
            }
            prop_assert_eq!(output.stdout, expected);
        }
    }
}
