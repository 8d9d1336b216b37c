//! Text on huge pages of its own file, and copied segments, according to the kernel.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::place::as_nobody;
use crate::support::live::{machine, skip};
use crate::support::needs;
use crate::support::program::{self, Libc};
use crate::support::restore;
use crate::support::running::Running;
use crate::support::tool;

const PAGE: u64 = 2 << 20;

/// A directory for all users with hugectl and copies of programs.
struct Copies(tempfile::TempDir);

impl Copies {
    fn new() -> Copies {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        tool::install(dir.path());
        // hugectl records failed attempts here.
        let run_dir = dir.path().join("run");
        fs::create_dir(&run_dir).unwrap();
        std::os::unix::fs::chown(&run_dir, Some(65534), Some(65534)).unwrap();
        Copies(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Copies a program, so that no other process maps it.
    fn copy(&self, from: &Path) -> PathBuf {
        let to = self.path(from.file_name().unwrap().to_str().unwrap());
        tool::copy(from, &to);
        to
    }

    /// Returns the command of hugectl as nobody.
    fn command(&self, options: &[&str], program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("bin/hugectl"));
        command.args(options).arg(program).args(arguments);
        command.env("XDG_RUNTIME_DIR", self.path("run"));
        command.env("PATH", "/usr/bin:/bin");
        as_nobody(&command)
    }

    fn start(&self, options: &[&str], program: &Path, arguments: &[&str]) -> Running {
        Running::start(&mut self.command(options, program, arguments))
    }
}

/// A program's text according to smaps, in bytes.
#[derive(Debug, Default)]
struct Text {
    /// In aligned ranges of a whole huge page.
    inner: u64,
    /// On huge pages of the page cache.
    huge: u64,
    /// Also mapped by other processes.
    shared: u64,
}

impl Text {
    fn of(pid: u32, program: &Path) -> Text {
        let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default();
        let mut text = Text::default();
        let mut is_text = false;
        for line in smaps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some((start, end)) = words[0].split_once('-') {
                let address = |text| u64::from_str_radix(text, 16).unwrap();
                let (start, end) = (address(start), address(end));
                is_text = words.last() == program.to_str().as_ref() && words[1].starts_with("r-");
                let first = start.next_multiple_of(PAGE);
                text.inner += match is_text {
                    true => (end / PAGE * PAGE).saturating_sub(first),
                    false => 0,
                };
            } else if is_text {
                let bytes = || words[1].parse::<u64>().unwrap() * 1024;
                match words[0] {
                    "FilePmdMapped:" => text.huge += bytes(),
                    "Shared_Clean:" => text.shared += bytes(),
                    _ => {}
                }
            }
        }
        text
    }

    fn is_huge(&self) -> bool {
        self.inner >= 4 << 20 && self.huge * 100 >= self.inner * 99
    }
}

fn segments(flags: &[&str]) -> PathBuf {
    program::build("segments", Libc::Glibc, flags).unwrap()
}

fn align(program: &Path) {
    let done = tool::tool("hugeedit")
        .arg("--align")
        .arg(program)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Whether hugectl's messages show huge pages of the file system. If not, reports a skipped test.
fn has_huge_pages(test: &str, err: &str) -> bool {
    let lacks = err.contains("its file system keeps it on base pages");
    !lacks || skip::<()>(test, "the file system has no huge pages").is_some()
}

#[test]
fn text_is_on_huge_pages_of_its_file() {
    let test = "text on huge pages of its file";
    if !needs::root(test) {
        return;
    }
    for (flags, is_aligned) in [(&["-no-pie"][..], false), (&["-pie", "-fPIE"], true)] {
        let copies = Copies::new();
        let program = copies.copy(&segments(flags));
        if is_aligned {
            align(&program);
        }
        let plain = Command::new(&program)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut first = copies.start(&["-v", "--text"], &program, &[]);
        assert_eq!(first.line() + "\n", String::from_utf8_lossy(&plain.stdout));
        // Started only now: a collapse unmaps the text in other processes until their next access.
        let mut second = copies.start(&["-v", "--text"], &program, &[]);
        second.line();
        let texts = [
            Text::of(first.id(), &program),
            Text::of(second.id(), &program),
        ];
        let err = first.end().err;
        second.end();
        if !has_huge_pages(test, &err) {
            return;
        }
        for text in texts {
            assert!(text.is_huge(), "{flags:?} {text:?}\n{err}");
            assert!(text.shared >= text.inner, "{flags:?} {text:?}");
        }
        let mut third = copies.start(&["-v", "--text"], &program, &[]);
        third.line();
        let err = third.end().err;
        assert!(
            err.contains("are huge pages of") && err.contains(" already"),
            "{err}"
        );
        assert!(!err.contains("warning: "), "{err}");
    }
}

/// Crash reports read the names of functions from the files in `/proc/self/maps`.
#[test]
fn explain_warns_of_lost_function_names() {
    let test = "names of functions in text";
    let Some(live) = machine(test) else {
        return;
    };
    live.set_pool(40);
    let copies = Copies::new();
    let program = copies.copy(&segments(&["-pie", "-fPIE"]));
    let explain = || {
        let mut command = copies.command(&["--text", "--explain"], &program, &[]);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let cure = format!("to keep them: hugeedit --align {}", program.display());
    let out = explain();
    assert!(
        out.contains("lose the names of functions; ") && out.contains(&cure),
        "{out}"
    );
    align(&program);
    let out = explain();
    if !has_huge_pages(test, &out) {
        return;
    }
    assert!(!out.contains("lose the names"), "{out}");
}

#[test]
fn text_of_a_static_program_is_huge() {
    let test = "text of a static program";
    if !needs::root(test) {
        return;
    }
    let copies = Copies::new();
    let program = copies.copy(&segments(&["-static", "-no-pie"]));
    let mut running = copies.start(&["-v", "--text"], &program, &[]);
    running.line();
    let text = Text::of(running.id(), &program);
    let err = running.end().err;
    if has_huge_pages(test, &err) {
        // The program does not touch all of its text.
        assert!(text.huge * 100 >= text.inner * 60, "{text:?}\n{err}");
        assert!(!err.contains("warning: "), "{err}");
    }
}

/// A file system without huge pages (ramfs).
struct RamfsMount(PathBuf);

impl RamfsMount {
    fn new(dir: PathBuf) -> RamfsMount {
        fs::create_dir(&dir).unwrap();
        let ramfs = Command::new("mount")
            .args(["-t", "ramfs", "none"])
            .arg(&dir)
            .status();
        assert!(ramfs.unwrap().success());
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        RamfsMount(dir)
    }
}

impl Drop for RamfsMount {
    fn drop(&mut self) {
        restore::log_failure(restore::unmount(&self.0), &self.0);
    }
}

/// The text is copied to anonymous THP. Messages and report name the reason.
#[test]
fn a_file_system_without_huge_pages_is_named() {
    let test = "a file system without huge pages";
    let Some(live) = machine(test) else {
        return;
    };
    if !live.can_use_thp() {
        return skip(test, "transparent huge pages are off").unwrap_or(());
    }
    let copies = Copies::new();
    let ramfs = RamfsMount::new(copies.path("memory"));
    let program = ramfs.0.join("program");
    tool::copy(segments(&["-no-pie"]), &program);
    for shortfall in ["text: 0 of ", " cannot all be "] {
        let options = ["-v", "--text=thp", "--report", "--json"];
        let mut running = copies.start(&options, &program, &[]);
        running.line();
        let err = running.end().err;
        assert!(
            err.contains("its file system keeps it on base pages"),
            "{err}"
        );
        assert!(err.contains(shortfall), "{err}");
        let json = err.lines().find(|line| line.starts_with('{')).unwrap();
        let report: serde_json::Value = serde_json::from_str(json).unwrap();
        let rows = report["segments"].as_array().unwrap();
        let is_ours = |row: &&serde_json::Value| {
            row["segment"] == "text" && row["object"] == program.to_str().unwrap()
        };
        let text = rows.iter().find(is_ours).unwrap();
        assert_eq!(text["mechanism"], "thp", "{text}");
        assert!(
            text["huge"]["2097152"].as_u64().unwrap() >= 8 << 20,
            "{text}"
        );
        assert_eq!(
            text["reason"],
            "the file system keeps the file on base pages"
        );
    }
    drop(ramfs);
}

#[test]
fn status_recognises_copied_segments() {
    let Some(live) = machine("segments from a pool") else {
        return;
    };
    live.set_pool(40);
    let aligned = ["-no-pie", "-Wl,-z,max-page-size=2097152,-z,noseparate-code"];
    for flags in [&["-no-pie"][..], &["-pie", "-fPIE"], &aligned] {
        let copies = Copies::new();
        let program = copies.copy(&segments(flags));
        let mut running = copies.start(&["--text=2MB", "--data"], &program, &[]);
        running.line();
        let pid = running.pid();
        let status = tool::tool("hugectl")
            .args(["--status", &pid, "--json"])
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&status.stdout)
            .unwrap_or_else(|error| panic!("{error}: {status:?}"));
        let huge = |segment: &str| {
            let rows = report["segments"].as_array().unwrap();
            let is_ours = |row: &&serde_json::Value| {
                row["segment"] == segment && row["object"] == program.to_str().unwrap()
            };
            let row = rows.iter().find(is_ours).unwrap();
            assert_eq!(row["mechanism"], "hugetlb", "{row}");
            row["huge"]["2097152"].as_u64().unwrap()
        };
        // Without the partial pages at both ends.
        let (text, data, bss) = (huge("text"), huge("data"), huge("bss"));
        assert!(
            text >= 8 << 20 && data >= 4 << 20 && bss >= 12 << 20,
            "{report}"
        );
        // The rest of an aligned segment's last huge page counts in another row.
        let used = (40 - live.free_pages()) * PAGE;
        let rows = report["segments"].as_array().unwrap().iter();
        let all = rows.filter_map(|row| row["huge"]["2097152"].as_u64());
        assert_eq!(used, all.sum::<u64>(), "{flags:?}");
        let is_aligned = flags == aligned;
        assert!(is_aligned || used == text + data + bss, "{flags:?}");
        assert!(used < text + data + bss + 3 * PAGE, "{flags:?}");
        assert_eq!(running.end().err, "");
    }
    assert_eq!(live.wait_for_free_pages(40), 40);
}
