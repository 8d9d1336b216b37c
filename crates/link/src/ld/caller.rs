//! Who calls, and with which environment.

use std::ffi::OsString;
use std::path::PathBuf;

/// What ld.hugetlbfs takes from its process.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The arguments, the name it was called by first.
    pub argv: Vec<OsString>,
    /// Its own file, links resolved.
    pub exe: Option<PathBuf>,
    /// `LD`: the linker to use.
    pub ld: Option<OsString>,
    /// `COMPILER_PATH`: where gcc has its tools.
    pub compiler_path: Option<OsString>,
    /// `PATH`
    pub path: Option<OsString>,
    /// `LDEMULATION`: the emulation where the line names none.
    pub emulation: Option<String>,
    /// Whether `LD_HUGETLBFS_RECURSION` says that it called itself.
    pub recursion: bool,
    /// Whether `HUGETLB_DEPRECATED_LINK` allows `--hugetlbfs-link`.
    pub deprecated_link: bool,
    /// Where temporary files go.
    pub temporary: PathBuf,
}

impl Caller {
    /// From the arguments and the environment of this process.
    pub fn this(
        argv: Vec<OsString>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Caller {
        let mut caller = Caller {
            argv,
            exe: std::fs::read_link("/proc/self/exe").ok(),
            temporary: PathBuf::from("/tmp"),
            ..Caller::default()
        };
        for (name, value) in variables {
            match name.as_encoded_bytes() {
                b"LD" => caller.ld = Some(value),
                b"COMPILER_PATH" => caller.compiler_path = Some(value),
                b"PATH" => caller.path = Some(value),
                b"LDEMULATION" => caller.emulation = value.into_string().ok(),
                b"LD_HUGETLBFS_RECURSION" => caller.recursion = true,
                b"HUGETLB_DEPRECATED_LINK" => caller.deprecated_link = true,
                b"TMPDIR" => caller.temporary = value.into(),
                _ => {}
            }
        }
        caller
    }
}
