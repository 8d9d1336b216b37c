//! Ways to run a program.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use hugetools_model::PageSize;

/// This program, even if its file was replaced meanwhile.
const HUGECTL: &str = "/proc/self/exe";

/// A variable of random length. It moves the stack in each run, so that no good or bad layout
/// decides the result.
const PADDING: &str = "HUGETLB_COMPARE_PADDING";

/// Names of ways, and their options of hugectl.
const OPTION_WAYS: [(&str, &[&str]); 5] = [
    ("thp", &["--thp"]),
    ("heap", &["--heap"]),
    ("text", &["--text"]),
    (
        "all",
        &["--text", "--data", "--bss", "--heap", "--anon", "--shm"],
    ),
    ("auto", &["--auto"]),
];

/// Options that take a page size.
const SEGMENTS: [&str; 7] = ["text", "data", "bss", "heap", "shm", "anon", "stack"];

/// A way to run a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The name in the table.
    pub name: String,
    /// Options of hugectl; `None` runs the program itself.
    pub options: Option<Vec<OsString>>,
    /// Whether glibc's malloc uses transparent huge pages.
    pub tunable: bool,
}

impl Way {
    /// Returns the way of the unchanged program.
    pub fn plain() -> Way {
        Way {
            name: "plain".to_owned(),
            options: None,
            tunable: false,
        }
    }

    /// Returns the way of hugectl with these options.
    pub fn options(name: &str, options: Vec<OsString>) -> Way {
        Way {
            options: Some(options),
            name: name.to_owned(),
            ..Way::plain()
        }
    }

    /// Parses a word of `--compare`. `given` holds the other options of the command line. `thp` and
    /// a page size apply to the segments in `given`, or to the heap if there are none.
    ///
    /// # Errors
    /// Why there is no such way.
    pub fn parse(word: &str, given: &[OsString]) -> Result<Way, String> {
        let is_size = word.parse::<PageSize>().is_ok();
        if word == "thp" || is_size {
            let options = with_size(word, given);
            if !options.is_empty() {
                return Ok(Way::options(word, options));
            }
        }
        if let Some((name, options)) = OPTION_WAYS.iter().find(|(name, _)| *name == word) {
            let options = options.iter().map(OsString::from).collect();
            return Ok(Way::options(name, options));
        }
        match word {
            "plain" => Ok(Way::plain()),
            "given" if given.is_empty() => Err("given: no other options are given".to_owned()),
            "given" => Ok(Way::options(word, given.to_vec())),
            "tunable" => Ok(Way {
                name: word.to_owned(),
                tunable: true,
                ..Way::plain()
            }),
            size if is_size => Ok(Way::options(size, vec![format!("--heap={size}").into()])),
            _ => Err(format!(
                "{word}: not plain, given, thp, heap, text, all, auto, tunable or a page \
                 size, such as 2MB"
            )),
        }
    }

    fn variable(&self) -> Option<(&'static str, &'static str)> {
        self.tunable
            .then_some(("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"))
    }

    pub(crate) fn command(&self, program: &[OsString]) -> Command {
        let mut words = program.iter();
        let mut command = match &self.options {
            None => Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str)),
            Some(options) => {
                let mut command = Command::new(HUGECTL);
                command.args(options).arg("--");
                command
            }
        };
        command
            .args(words)
            .envs(self.variable())
            .env(PADDING, "x".repeat(fastrand::usize(..4096)));
        command
    }

    /// Returns a command line that a user can run.
    pub fn command_line(&self, program: &str) -> String {
        let variable = self.variable();
        let variable = variable.map(|(name, value)| format!("{name}={value} "));
        let options = self.options.iter().map(|options| {
            let words = options.iter();
            let words = words.map(|word| format!("{} ", word.to_string_lossy()));
            format!("hugectl {}", words.collect::<String>())
        });
        variable.into_iter().chain(options).collect::<String>() + program
    }
}

/// Returns the segment options in `given`, each with this page size.
fn with_size(size: &str, given: &[OsString]) -> Vec<OsString> {
    let is_given = |segment: &&&str| {
        let option = format!("--{segment}");
        let mut words = given.iter().map(|word| word.to_string_lossy());
        words.any(|word| word.split('=').next() == Some(option.as_str()))
    };
    let segments = SEGMENTS.iter().filter(is_given);
    segments
        .map(|segment| format!("--{segment}={size}").into())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Result<Way, String> {
        Way::parse(word, &["--heap".into()])
    }

    #[test]
    fn words_are_ways() {
        assert_eq!(parse("plain").unwrap().command_line("./x"), "./x");
        assert_eq!(
            parse("given").unwrap().command_line("./x"),
            "hugectl --heap ./x"
        );
        assert_eq!(
            parse("2MB").unwrap().command_line("./x"),
            "hugectl --heap=2MB ./x"
        );
        let tunable = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ./x";
        assert_eq!(parse("tunable").unwrap().command_line("./x"), tunable);
        assert!(parse("hep").unwrap_err().starts_with("hep: not plain"));
        assert!(Way::parse("given", &[]).is_err());
    }

    #[test]
    fn a_size_serves_the_given_segments() {
        let shown =
            |word: &str, given: &[OsString]| Way::parse(word, given).unwrap().command_line("./x");
        let given = ["--shm".into(), "--bss=1GB".into(), "--limit=4M".into()];
        assert_eq!(shown("2MB", &given), "hugectl --bss=2MB --shm=2MB ./x");
        assert_eq!(shown("thp", &given), "hugectl --bss=thp --shm=thp ./x");
        assert_eq!(shown("thp", &[]), "hugectl --thp ./x");
    }
}
