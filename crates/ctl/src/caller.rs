//! Who calls, and with what: read once, passed down.

pub mod filter;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::Settings;
use hugetools_model::{FileError, Root};

use self::filter::Filter;

/// How the names of all settings begin.
const PREFIX: &[u8] = b"HUGETLB_";

/// The process that hugectl is, before it becomes another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The environment, in its order: `NAME=value`.
    pub env: Vec<OsString>,
    /// The process that becomes the program.
    pub pid: u32,
    /// The real user.
    pub uid: u32,
    /// The effective user.
    pub euid: u32,
    /// The real group.
    pub gid: u32,
    /// The effective group.
    pub egid: u32,
    /// The file that hugectl was started from.
    pub exe: Option<PathBuf>,
    /// Filters of system calls, once they were looked for.
    pub filter: Filter,
}

impl Caller {
    /// The process that runs this, with its environment.
    pub fn own() -> Caller {
        Caller::this(std::env::vars_os())
    }

    /// The process that runs this, with the environment it is told.
    pub fn this(env: impl IntoIterator<Item = (OsString, OsString)>) -> Caller {
        let entry = |(name, value)| [name, value].join(OsStr::new("="));
        Caller::with(env.into_iter().map(entry).collect())
    }

    fn with(env: Vec<OsString>) -> Caller {
        let mut this = Caller {
            env,
            pid: std::process::id(),
            uid: nix::unistd::getuid().as_raw(),
            euid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getgid().as_raw(),
            egid: nix::unistd::getegid().as_raw(),
            exe: std::env::current_exe().ok(),
            filter: Filter::default(),
        };
        // Without /proc, by the words that started it.
        if this.exe.is_none() {
            let word = std::env::args_os().next();
            this.exe = word.and_then(|word| this.named(Path::new(&word)));
        }
        this
    }

    /// The same in a child of it.
    #[must_use]
    pub fn this_process(&self) -> Caller {
        Caller {
            pid: std::process::id(),
            ..self.clone()
        }
    }

    /// The same, with the filters of system calls that it runs under.
    ///
    /// # Errors
    /// When a file that exists cannot be read.
    pub fn with_filter(self, root: &Root) -> Result<Caller, FileError> {
        let filter = Filter::look(root)?;
        Ok(Caller { filter, ..self })
    }

    /// The file that a shell would start by a word, where that is a program of that name.
    fn named(&self, word: &Path) -> Option<PathBuf> {
        if word.components().nth(1).is_some() {
            return std::fs::canonicalize(word).ok();
        }
        let dirs = std::env::split_paths(self.var("PATH")?);
        let mut found = dirs.map(|dir| dir.join(word));
        found.find_map(|path| std::fs::canonicalize(path).ok())
    }

    /// How much is to be said, by the environment alone.
    pub fn verbosity(&self) -> u8 {
        // Of each name all are asked for, so those that are no setting are left out first.
        let is_setting = |entry: &&OsString| entry.as_bytes().starts_with(PREFIX);
        let settings: Vec<_> = self.env.iter().filter(is_setting).collect();
        let get = |name: &str| {
            let mut found = settings.iter().filter_map(|entry| value(entry, name));
            found.next().map(OsStr::as_bytes)
        };
        Settings::read(get, b"", self.pid).verbosity
    }

    /// The value of a variable: the first, should there be several.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find_map(|entry| value(entry, name))
    }
}

/// The value of a variable, where an entry is one of it.
pub(crate) fn value<'a>(entry: &'a OsStr, name: &str) -> Option<&'a OsStr> {
    let rest = entry.as_bytes().strip_prefix(name.as_bytes())?;
    rest.strip_prefix(b"=").map(OsStr::from_bytes)
}
