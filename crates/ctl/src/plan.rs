//! What will be done: a difference to the environment, and a program. It
//! prints as the shell commands that do the same.

mod make;

pub use make::make;
pub(crate) use make::segment_notes::{RELINK, describe, static_text_is_short};
pub(crate) use make::whom::{is_left_out, is_shut_out, pages_within};

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use hugetools_contract::env::{PID, REQUIRE, RESTRICT_EXE, STARTER};
use hugetools_contract::ledger::Kind;
use hugetools_model::Head;
use serde::Serialize;

use crate::probe::coverage::page_cache::Job;
use crate::probe::heap_engine::Engine;
use crate::request::thp_policy::ThpPolicy;
use crate::say::note::{Level, Note};
use crate::shell::quote;
use crate::wait::To;

/// A variable that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// This text.
    Text(OsString),
    /// The number of the process that sets it and becomes the program; `$$` in
    /// the shell.
    Process,
    /// The same number, a colon and this text.
    ProcessAnd(OsString),
}

/// The program that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Its arguments, the name that was asked for first.
    pub argv: Vec<OsString>,
    /// Whether it is text that the shell runs, should the kernel not take it.
    pub is_text: bool,
    /// Why the kernel may not take it, where that is known.
    pub doubt: Option<String>,
}

/// What will be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What is set, in the order in which the classic tool sets it.
    pub variables: Vec<Variable>,
    /// What is started; nothing in a dry run of options alone.
    pub program: Option<Program>,
    /// What serves the heap.
    pub engine: Engine,
    /// What there is to say.
    pub notes: Vec<Note>,
    /// Where the report goes, if hugectl waits for the program.
    pub report: Option<To>,
    /// What becomes of transparent huge pages, where that is set.
    pub thp_policy: Option<ThpPolicy>,
    /// The library inside hugectl that is put on disk.
    pub library: Option<Bundled>,
    /// The files whose text is put on huge pages of the page cache.
    pub text: Vec<Job>,
    /// Whether the program could have no other huge pages for its text.
    pub text_is_static: bool,
}

/// The library inside hugectl that is to be preloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundled {
    /// Its name.
    pub name: &'static str,
    /// Where it will be, if nothing goes wrong there.
    pub path: PathBuf,
    /// What follows it in `LD_PRELOAD`.
    pub rest: OsString,
}

impl Plan {
    /// Whether the program is not to run without what it is told.
    pub fn requires(&self) -> bool {
        let mut variables = self.variables.iter();
        variables.any(|variable| variable.name == REQUIRE)
    }

    /// Whether the libraries may have something to say that hugectl has not.
    pub fn leaves_news(&self) -> bool {
        self.variables.iter().any(|variable| match variable.name {
            STARTER | RESTRICT_EXE => true,
            PID => variable.value == Value::Process,
            _ => false,
        })
    }

    /// Which kinds of lines are said by the notes of the plan.
    pub fn said(&self) -> u64 {
        let warnings = self
            .notes
            .iter()
            .filter(|note| note.level == Level::Warning);
        let subjects = warnings.filter_map(|note| Some(note.shortfall.as_ref()?.subject));
        let said = subjects.flat_map(|subject| {
            [
                (subject.heap, Kind::Heap),
                (subject.shm, Kind::Shm),
                (subject.text, Kind::Text),
                (subject.data, Kind::Data),
            ]
        });
        let said = said.filter(|(is_said, _)| *is_said);
        said.fold(0, |bits, (_, kind)| bits | kind.bit())
    }

    /// The shell commands, byte for byte: a line `NAME='value'` for each
    /// variable, as the classic tool prints them, then `export`, what else is set,
    /// and `exec`.
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
            if program
                .argv
                .first()
                .is_some_and(|name| name.as_bytes().starts_with(b"-"))
            {
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

    /// The plan as one line of JSON, with these warnings besides; what is no UTF-8 becomes
    /// U+FFFD.
    pub fn to_json(&self, warnings: &[String]) -> String {
        let lossy = |text: &OsStr| text.to_string_lossy().into_owned();
        let variables = self.variables.iter();
        let value = |value: &Value| match value {
            Value::Text(text) => lossy(text),
            Value::Process => "$$".to_owned(),
            Value::ProcessAnd(text) => format!("$$:{}", lossy(text)),
        };
        let variables: serde_json::Map<_, _> = variables
            .map(|variable| (variable.name.to_owned(), value(&variable.value).into()))
            .collect();
        let program = self.program.as_ref();
        let told = |level| {
            let notes = self.notes.iter().filter(move |note| note.level == level);
            notes.map(|note| note.text.as_str())
        };
        let mut head = Head::new("hugectl");
        head.warnings
            .extend(told(Level::Warning).map(str::to_owned));
        head.warnings.extend(warnings.iter().cloned());
        let document = Document {
            head,
            environment: variables,
            program: program.map(|program| lossy(program.path.as_os_str())),
            arguments: program.map(|program| program.argv.iter().map(|a| lossy(a)).collect()),
            heap_engine: self.engine,
            notes: told(Level::Info).collect(),
        };
        let json = serde_json::to_string(&document);
        debug_assert!(json.is_ok(), "its keys are texts");
        json.unwrap_or_default() + "\n"
    }
}

/// A plan as JSON. The fields are described in hugectl(8).
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

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_shell()))
    }
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
                doubt: None,
            }),
            engine: Engine::None,
            notes: Vec::new(),
            report: None,
            thp_policy: None,
            library: None,
            text: Vec::new(),
            text_is_static: false,
        }
    }

    #[test]
    fn classic_lines_come_first() {
        let plan = plan(
            &[("HUGETLB_VERBOSE", "2"), ("HUGETLB_SHM", "yes")],
            &[b"echo", b"a b"],
        );
        assert_eq!(
            plan.to_string(),
            "HUGETLB_VERBOSE='2'\nHUGETLB_SHM='yes'\nexport HUGETLB_VERBOSE HUGETLB_SHM\n\
             exec 'echo' 'a b'\n"
        );
    }

    #[test]
    fn a_name_with_a_dash_is_no_option() {
        assert_eq!(plan(&[], &[b"-x"]).to_string(), "exec -- '-x'\n");
        assert_eq!(plan(&[], &[]).to_string(), "");
    }

    #[test]
    fn json_holds_the_same() {
        let plan = plan(&[("HUGETLB_SHM", "yes")], &[b"echo", b"\xff"]);
        let value: serde_json::Value = serde_json::from_str(&plan.to_json(&[])).unwrap();
        assert_eq!(value["environment"]["HUGETLB_SHM"], "yes");
        assert_eq!(value["arguments"][1], "\u{fffd}");
        assert_eq!(value["heap_engine"], "none");
        assert_eq!(
            (&value["tool"], &value["schema"]),
            (&"hugectl".into(), &1.into())
        );
        assert!(value["notes"].as_array().unwrap().is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// Whatever the arguments, `sh` gives them on as they were.
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
