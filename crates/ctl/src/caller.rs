//! hugectl's own process, as it was started.

pub mod filter;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use hugetools_contract::env::Settings;

use self::filter::Filter;

/// hugectl's own process. It becomes the program, or its child does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The environment, in its order: `NAME=value`.
    pub(crate) env: Vec<OsString>,
    /// The process that becomes the program.
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) euid: u32,
    pub(crate) gid: u32,
    pub(crate) egid: u32,
    /// The executable of hugectl; `None` without `/proc`.
    pub(crate) exe: Option<PathBuf>,
    /// Its seccomp filters, if [`Filter::probe`] was called.
    pub filter: Filter,
}

impl Caller {
    /// Returns this process.
    pub fn own() -> Caller {
        Caller::this(std::env::vars_os())
    }

    /// Returns this process with another environment.
    pub fn this(env: impl IntoIterator<Item = (OsString, OsString)>) -> Caller {
        let entry = |(mut name, value): (OsString, OsString)| {
            name.reserve_exact(1 + value.len());
            name.push("=");
            name.push(value);
            name
        };
        Caller {
            env: env.into_iter().map(entry).collect(),
            pid: std::process::id(),
            uid: nix::unistd::getuid().as_raw(),
            euid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getgid().as_raw(),
            egid: nix::unistd::getegid().as_raw(),
            exe: std::env::current_exe().ok(),
            filter: Filter::default(),
        }
    }

    /// Returns a copy with the ID of the calling process, for a child.
    #[must_use]
    pub fn this_process(&self) -> Caller {
        Caller {
            pid: std::process::id(),
            ..self.clone()
        }
    }

    /// Returns the verbosity that the environment sets.
    pub fn verbosity(&self) -> u8 {
        let entries = self.settings();
        let get = |name: &str| entries.iter().find_map(|entry| value(entry, name));
        Settings::read(|name| get(name).map(OsStr::as_bytes), b"", self.pid).verbosity
    }

    /// Returns the entries of the environment that may be settings, since looking up every
    /// setting in a large environment takes long.
    pub(crate) fn settings(&self) -> Vec<&OsStr> {
        let entries = self.env.iter().map(OsString::as_os_str);
        let is_setting = |entry: &&OsStr| entry.as_bytes().starts_with(b"HUGETLB_");
        entries.filter(is_setting).collect()
    }

    /// Returns the value of a variable, the first if there are several.
    pub(crate) fn var(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find_map(|entry| value(entry, name))
    }
}

/// Returns the value if an entry of the environment is this variable.
pub(crate) fn value<'a>(entry: &'a OsStr, name: &str) -> Option<&'a OsStr> {
    let rest = entry.as_bytes().strip_prefix(name.as_bytes())?;
    rest.strip_prefix(b"=").map(OsStr::from_bytes)
}
