//! Runs the tools.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The programs: name and path.
pub(crate) const BUILT: [(&str, &str); 5] = [
    ("hugeadm", env!("CARGO_BIN_EXE_hugeadm")),
    ("hugectl", env!("CARGO_BIN_EXE_hugectl")),
    ("hugeedit", env!("CARGO_BIN_EXE_hugeedit")),
    ("pagesize", env!("CARGO_BIN_EXE_pagesize")),
    ("ld-hugetlbfs", env!("CARGO_BIN_EXE_ld-hugetlbfs")),
];

/// The output and exit status of a run. As in a shell, signal N is status 128 + N.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let signal = output.status.signal().map(|signal| 128 + signal);
        Ran {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().or(signal).unwrap(),
        }
    }
}

/// Returns the path of hugectl in a prefix with the libraries of this build. Prefixes of other
/// builds stay.
pub(crate) fn hugectl() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let prefix = tmp.join(format!("hugectl-{}", env!("HUGETOOLS_DIGEST")));
        fs::create_dir_all(&prefix).unwrap();
        install(&prefix);
        prefix.join("bin/hugectl")
    })
}

/// Copies hugectl and its libraries to a prefix.
pub(crate) fn install(prefix: &Path) {
    for (file, dir) in [
        (env!("CARGO_BIN_EXE_hugectl"), "bin"),
        (env!("HUGETOOLS_PRELOAD"), "lib"),
        (env!("HUGETOOLS_HEAP"), "lib"),
    ] {
        let dir = prefix.join(dir);
        fs::create_dir_all(&dir).unwrap();
        let name = Path::new(file).file_name().unwrap();
        let new = dir.join(format!("new-{}", std::process::id()));
        copy(file, &new);
        fs::rename(&new, dir.join(name)).unwrap();
    }
}

/// Copies an executable by cp. A child forked by another test could inherit our descriptor that is
/// open for writing, and exec would fail with ETXTBSY.
pub(crate) fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let mut cp = Command::new("cp");
    let copied = cp.arg(from.as_ref()).arg(to.as_ref()).output().unwrap();
    assert!(copied.status.success(), "{copied:?}");
}

/// Writes an executable in a child process, for the same reason as [`copy`].
pub(crate) fn write(path: &Path, contents: &[u8]) {
    let mut cat = Command::new("sh");
    cat.args(["-c", "cat >\"$0\""])
        .arg(path)
        .stdin(Stdio::piped());
    let mut cat = cat.spawn().unwrap();
    cat.stdin.take().unwrap().write_all(contents).unwrap();
    assert!(cat.wait().unwrap().success(), "{path:?}");
}

/// Returns a tool's command. Its environment has only the locale and the width of a terminal.
pub(crate) fn tool(name: &str) -> Command {
    let path = match name {
        "hugeadm" => Path::new(env!("CARGO_BIN_EXE_hugeadm")),
        "hugectl" => hugectl(),
        "hugeedit" => Path::new(env!("CARGO_BIN_EXE_hugeedit")),
        "ld.hugetlbfs" => Path::new(env!("CARGO_BIN_EXE_ld-hugetlbfs")),
        "pagesize" => Path::new(env!("CARGO_BIN_EXE_pagesize")),
        _ => panic!("there is no tool {name}"),
    };
    let mut command = Command::new(path);
    command.env_clear().env("LC_ALL", "C").env("COLUMNS", "100");
    command
}

/// Runs hugeadm on a recorded tree.
pub(crate) fn hugeadm(tree: &Path, args: &[impl AsRef<str>]) -> Ran {
    let mut command = tool("hugeadm");
    command.arg("--sysroot").arg(tree);
    command.args(args.iter().map(AsRef::as_ref)).ran()
}

pub(crate) fn sh(script: &str) -> Ran {
    Command::new("sh").arg("-c").arg(script).ran()
}

pub(crate) trait Run {
    /// Runs a command to its end. Retries fork, which can fail under another test's strict
    /// overcommit.
    fn ran(&mut self) -> Ran;
}

impl Run for Command {
    fn ran(&mut self) -> Ran {
        for _ in 0..50 {
            match self.output() {
                Err(error) if error.kind() == ErrorKind::OutOfMemory => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                ran => return ran.unwrap().into(),
            }
        }
        self.output().unwrap().into()
    }
}
