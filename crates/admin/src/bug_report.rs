//! `--bug-report`: the kernel's files about huge pages, without private data, in the format of
//! the archives in `tests/fixtures`. With `--sysroot` and an unpacked report, hugeadm acts as on
//! the recorded machine.
//!
//! It names no process, user, host or directory: see `redact`.
//!
//! **Invariants.** Only text that is known to be harmless is included.

mod redact;

use std::fmt::Write;

use hugetools_model::{KPath, Root};
use serde::Serialize;

/// A recorded machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BugReport {
    /// Versions of hugetools and the distribution, a note on privacy, and read errors.
    pub about: Vec<String>,
    /// The kernel's files, sorted by path.
    pub files: Vec<Recorded>,
}

/// A file of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Its path.
    pub path: String,
    /// Its contents; `null` for a write-only file.
    pub text: Option<String>,
}

const FILES: &[&str] = &[
    "/proc/buddyinfo",
    "/proc/cmdline",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/pagetypeinfo",
    "/proc/self/mountinfo",
    "/proc/swaps",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/shmall",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/shmmni",
    "/proc/uptime",
    "/proc/vmstat",
    "/proc/zoneinfo",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/has_cpu",
    "/sys/devices/system/node/has_memory",
    "/sys/devices/system/node/online",
    "/sys/fs/cgroup/cgroup.controllers",
];

/// Directories to record, three levels deep, as in `hugepages-2048kB/stats/anon_fault_alloc`.
const TREES: &[&str] = &[
    "/proc/sys/vm",
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/transparent_hugepage",
];

impl BugReport {
    /// Reads all files. `about` lists read errors. Directories that cannot be listed are
    /// omitted.
    pub fn read(root: &Root) -> BugReport {
        let mut report = BugReport {
            about: about(root),
            files: Vec::new(),
        };
        for path in files(root) {
            report.add(root, &path);
        }
        report.files.sort_by(|a, b| a.path.cmp(&b.path));
        report
    }

    fn add(&mut self, root: &Root, path: &KPath) {
        let owner = root.owner(path);
        let text = match owner.is_some_and(|owner| owner.mode & 0o444 == 0) {
            true => None,
            false => match root.read_opt(path) {
                Ok(None) => return,
                Ok(Some(bytes)) => Some(redact::redact(path, &String::from_utf8_lossy(&bytes))),
                Err(why) => return self.about.push(why.to_string()),
            },
        };
        let path = path.to_string();
        self.files.push(Recorded { path, text });
    }
}

fn files(root: &Root) -> Vec<KPath> {
    let mut files: Vec<KPath> = FILES.iter().map(|path| KPath::from(*path)).collect();
    for tree in TREES {
        files_below(root, &KPath::from(*tree), 3, &mut files);
    }
    let nodes = KPath::from("/sys/devices/system/node");
    for name in root.list(&nodes).unwrap_or_default() {
        let name = name.to_string_lossy();
        let number = name.strip_prefix("node").unwrap_or_default();
        if number.parse::<u32>().is_ok() {
            let node = nodes.join(&name);
            files.extend(["cpulist", "distance", "meminfo"].map(|file| node.join(file)));
            files_below(root, &node.join("hugepages"), 2, &mut files);
        }
    }
    files
}

/// Collects the files below a directory, at most `depth` levels down.
fn files_below(root: &Root, dir: &KPath, depth: usize, files: &mut Vec<KPath>) {
    for name in root.list(dir).unwrap_or_default() {
        let path = dir.join(name.to_string_lossy());
        match root.host_path(path.as_str()).is_file() {
            true => files.push(path),
            false if depth > 1 => files_below(root, &path, depth - 1, files),
            false => {}
        }
    }
}

/// Formats the report as text.
pub fn text(report: &BugReport) -> String {
    let mut text = String::new();
    for line in &report.about {
        let _ = writeln!(text, "# {line}");
    }
    for Recorded { path, text: file } in &report.files {
        let _ = match file.as_deref() {
            None => writeln!(text, "{path} [wo]"),
            Some("") => writeln!(text, "{path} [empty]"),
            Some(contents) => match contents.strip_suffix('\n').unwrap_or(contents) {
                line if !line.contains('\n') => writeln!(text, "{path} = {line}"),
                lines => writeln!(text, "{path} <<EOF\n{lines}\nEOF"),
            },
        };
    }
    text
}

fn about(root: &Root) -> Vec<String> {
    let mut about = vec![
        format!("hugetools {}", env!("CARGO_PKG_VERSION")),
        format!("built for {}", std::env::consts::ARCH),
    ];
    about.extend(distribution(root));
    about.push("this report names no process, user, host or directory".to_owned());
    about
}

fn distribution(root: &Root) -> Option<String> {
    let bytes = root.read_opt(&KPath::from("/etc/os-release")).ok()??;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(format!("system: {}", name.trim_matches('"')))
}
