//! Arguments and environment of ld.hugetlbfs.

use std::ffi::OsString;
use std::path::PathBuf;

/// The inputs of ld.hugetlbfs.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The arguments, with the name it was called by.
    pub argv: Vec<OsString>,
    /// Its own file, symlinks resolved.
    pub exe: Option<PathBuf>,
    /// `LD`: the linker to use.
    pub ld: Option<OsString>,
    /// `COMPILER_PATH`: gcc's directories of tools.
    pub compiler_path: Option<OsString>,
    /// `PATH`
    pub path: Option<OsString>,
    /// Whether `LD_HUGETLBFS_RECURSION` is set: ld.hugetlbfs has called itself.
    pub recursion: bool,
    /// Whether `HUGETLB_DEPRECATED_LINK` silences the warning about `--hugetlbfs-link`.
    pub deprecated_link: bool,
}

impl Caller {
    /// Reads the arguments and the environment of this process.
    pub fn this(
        argv: Vec<OsString>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Caller {
        let mut caller = Caller {
            argv,
            exe: std::fs::read_link("/proc/self/exe").ok(),
            ..Caller::default()
        };
        for (name, value) in variables {
            match name.as_encoded_bytes() {
                b"LD" => caller.ld = Some(value),
                b"COMPILER_PATH" => caller.compiler_path = Some(value),
                b"PATH" => caller.path = Some(value),
                b"LD_HUGETLBFS_RECURSION" => caller.recursion = true,
                b"HUGETLB_DEPRECATED_LINK" => caller.deprecated_link = true,
                _ => {}
            }
        }
        caller
    }
}
