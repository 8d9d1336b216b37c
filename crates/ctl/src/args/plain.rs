//! The command lines of most starts, read without clap, whose work for all options would
//! be a third of hugectl's own time: options by their whole names that say what goes on
//! huge pages, then the program. Whatever else there is is clap's, and so is each error;
//! a test holds both readings equal.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::given::{Given, NOT_EMITTED, PID_TOO};
use super::{Args, DEFAULT, Segments};

/// An option that is read here.
struct Plain {
    name: &'static str,
    groups: &'static [&'static str],
    field: Field,
}

enum Field {
    /// It has a size, or none.
    Size(fn(&mut Args) -> &mut Option<String>),
    /// It is there or not.
    Flag(fn(&mut Args) -> &mut bool),
}

use Field::{Flag, Size};

const fn plain(name: &'static str, groups: &'static [&'static str], field: Field) -> Plain {
    Plain {
        name,
        groups,
        field,
    }
}

/// In the order of their definitions.
const OPTIONS: [Plain; 9] = [
    plain(
        "--auto",
        &[NOT_EMITTED],
        Flag(|args| &mut args.segments.auto),
    ),
    plain("--text", &[PID_TOO], Size(|args| &mut args.segments.text)),
    plain(
        "--text-libs",
        &[],
        Flag(|args| &mut args.segments.text_libs),
    ),
    plain("--data", &[PID_TOO], Size(|args| &mut args.segments.data)),
    plain("--bss", &[PID_TOO], Size(|args| &mut args.segments.bss)),
    plain("--heap", &[PID_TOO], Size(|args| &mut args.segments.heap)),
    plain("--shm", &[PID_TOO], Size(|args| &mut args.segments.shm)),
    plain("--anon", &[PID_TOO], Size(|args| &mut args.segments.anon)),
    plain("--thp", &[PID_TOO], Flag(|args| &mut args.segments.thp)),
];

/// Nothing is asked for.
impl Default for Segments {
    fn default() -> Segments {
        Segments {
            auto: false,
            text: None,
            text_libs: false,
            data: None,
            bss: None,
            heap: None,
            heap_engine: None,
            shm: None,
            anon: None,
            anon_min: None,
            stack: None,
            stack_depth: None,
            thp: false,
            thp_policy: None,
            fallback: None,
            disable: None,
            share_text: false,
            no_reserve: false,
        }
    }
}

/// Reads a command line, the name of the tool first; `None` where that is clap's.
pub(super) fn parse(argv: &[OsString]) -> Option<Args> {
    let words = argv.get(1..)?;
    let is_program = |word: &OsString| !word.as_bytes().starts_with(b"-");
    let (options, command) = words.split_at(words.iter().position(is_program)?);
    if command.first()?.is_empty() {
        return None;
    }
    let mut args = Args::default();
    let mut is_given = [false; OPTIONS.len()];
    for word in options {
        let word = word.to_str()?;
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let at = OPTIONS.iter().position(|option| option.name == name)?;
        match (&OPTIONS[at].field, value) {
            (Flag(_), Some(_)) | (Size(_), Some("")) => return None,
            (Flag(field), None) => *field(&mut args) = true,
            (Size(field), _) => *field(&mut args) = Some(value.unwrap_or(DEFAULT).to_owned()),
        }
        is_given[at] = true;
        match name {
            "--thp" => args.thp_last = true,
            "--heap" => args.thp_last = false,
            _ => {}
        }
    }
    let given = OPTIONS
        .iter()
        .zip(is_given)
        .filter(|(_, is_given)| *is_given);
    args.given = Given::plain(given.map(|(option, _)| (option.name, option.groups)));
    args.options = options.to_vec();
    args.command = command.to_vec();
    Some(args)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::args::of_clap;

    /// Words of which command lines are made: those that are read here, and others.
    const WORDS: [&str; 30] = [
        "--auto",
        "--text",
        "--text=2MB",
        "--text-libs",
        "--data=thp",
        "--data",
        "--bss",
        "--heap",
        "--heap=thp",
        "--heap=2MB",
        "--heap=a=b",
        "--heap=",
        "--shm",
        "--anon",
        "--anon=thp",
        "--thp",
        "--thp=x",
        "--hea",
        "--json",
        "--report",
        "-v",
        "-",
        "--",
        "prog",
        "./prog",
        "",
        "-x",
        "--only",
        "a=b",
        "--heap thp",
    ];

    proptest! {
        #[test]
        fn both_readings_are_the_same(
            words in proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..8),
        ) {
            let argv: Vec<OsString> = std::iter::once("hugectl").chain(words).map(OsString::from).collect();
            if let Some(args) = parse(&argv) {
                let of_clap = of_clap(&argv).map_err(|error| TestCaseError::fail(error.to_string()))?;
                prop_assert_eq!(format!("{args:?}"), format!("{of_clap:?}"));
            }
        }
    }

    #[test]
    fn each_option_is_read_here_and_by_clap_alike() {
        let words = |option: &Plain| match option.field {
            Flag(_) => vec![option.name.to_owned()],
            Size(_) => vec![option.name.to_owned(), format!("{}=2MB", option.name)],
        };
        for word in OPTIONS.iter().flat_map(words) {
            let argv = ["hugectl", &word, "prog", "--heap", "--", "-q"].map(OsString::from);
            let (plain, of_clap) = (parse(&argv).unwrap(), of_clap(&argv).unwrap());
            assert_eq!(format!("{plain:?}"), format!("{of_clap:?}"), "{word}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_clap() {
        for line in [
            "",
            "--heap",
            "--hea x",
            "-v x",
            "--heap= x",
            "--thp=1 x",
            "-- x",
            "--json x",
        ] {
            let words = std::iter::once("hugectl").chain(line.split_whitespace());
            let argv: Vec<OsString> = words.map(OsString::from).collect();
            assert!(parse(&argv).is_none(), "{line}");
        }
    }
}
