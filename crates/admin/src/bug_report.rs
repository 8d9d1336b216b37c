//! `--bug-report`: the kernel's files about huge pages, without private data. The
//! result is a recorded machine in the format of `tests/fixtures/record.sh`, so that
//! `--sysroot` behaves elsewhere as hugeadm did here.
//!
//! It names no process, user, host, device or directory: see `private`.
//!
//! **Invariants.** Text that isn't known to be harmless is omitted.

mod files;
mod private;

use std::fmt::Write;

use hugetools_model::hugetlb::pool;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::cgroup;
use hugetools_model::{KPath, Root};
use serde::Serialize;

/// A recorded machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BugReport {
    /// Versions of the programs and the system, and read errors.
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

impl BugReport {
    /// Reads all files. Files that this user may not read are mentioned in `about`.
    pub fn read(root: &Root) -> BugReport {
        let mut report = BugReport {
            about: about(root),
            files: Vec::new(),
        };
        for path in files::files(root) {
            report.add(root, &path);
        }
        report.files.sort_by(|a, b| a.path.cmp(&b.path));
        report
    }

    fn add(&mut self, root: &Root, path: &KPath) {
        let is_write_only = root
            .owner(path)
            .is_some_and(|owner| owner.mode & 0o444 == 0);
        if is_write_only {
            self.push(path, None);
            return;
        }
        match root.read_opt(path) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let text = private::without(path, &String::from_utf8_lossy(&bytes));
                self.push(path, Some(text));
            }
            Err(why) => self.about.push(why.to_string()),
        }
    }

    fn push(&mut self, path: &KPath, text: Option<String>) {
        let path = path.to_string();
        self.files.push(Recorded { path, text });
    }
}

/// Formats the report as text.
pub fn text(report: &BugReport) -> String {
    let mut text = String::new();
    for line in &report.about {
        let _ = writeln!(text, "# {line}");
    }
    for Recorded {
        path,
        text: contents,
    } in &report.files
    {
        let _ = match contents.as_deref() {
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

/// Describes the programs and the system.
fn about(root: &Root) -> Vec<String> {
    let mut about = vec![
        format!("hugetools {}", env!("CARGO_PKG_VERSION")),
        format!("built for {}", std::env::consts::ARCH),
    ];
    about.extend(system(root));
    about.extend(limits(root));
    about.push("this report names no process, user, host or directory".to_owned());
    about
}

/// Limits of this process' control groups, without group names.
fn limits(root: &Root) -> Vec<String> {
    let own = KPath::from("/proc/self/cgroup");
    let pools = Meminfo::read(root).and_then(|meminfo| pool::read(root, &meminfo));
    let sizes = pools.into_iter().flatten().map(|pool| pool.size);
    let of_size = sizes.map(|size| (size.to_string(), cgroup::tightest(root, &own, size)));
    let of_memory = ("memory".to_owned(), cgroup::tightest_memory(root, &own));
    let all = of_size.chain([of_memory]);
    all.filter_map(|(what, limit)| match limit {
        Ok(None) => None,
        Ok(Some(limit)) => {
            let all = limit.limit.get();
            let used = match limit.used {
                Some(used) => format!("{} of {all} bytes used", used.get()),
                None => format!("{all} bytes; the usage cannot be read"),
            };
            Some(format!("limit of a control group, {what}: {used}"))
        }
        Err(_) => Some(format!("limit of a control group, {what}: cannot be read")),
    })
    .collect()
}

/// The name of the distribution.
fn system(root: &Root) -> Option<String> {
    let bytes = root.read_opt(&KPath::from("/etc/os-release")).ok()??;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(format!("system: {}", name.trim_matches('"')))
}
