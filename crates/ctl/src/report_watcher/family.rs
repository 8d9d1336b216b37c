//! Those that the program has started, as far as they were seen while it ran, and
//! who of them stays when it has ended.
//!
//! The library in the program tells of those whose environment names it, or that
//! are its children. A starter that drops the environment leaves processes of which
//! nothing says whose they are: they were seen below it, or run the program of one
//! that was. Nor does anything where a daemon writes over its environment. Of a process
//! that has ended past its library, as `daemon(3)` has one end, all are told of here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hugetools_contract::env::REPORT_PID;
use hugetools_contract::report::{Proof, is_shell};
use hugetools_model::process::{self, Pid};
use hugetools_model::{KPath, Root};
use std::os::unix::ffi::OsStrExt;

use super::look::{self, Stat};
use super::output::Output;
use super::watched::Teller;
use crate::status::{OwnOrigin, Snapshot};

/// So many are kept in mind.
const MOST: usize = 256;

/// Of so many something is said.
const SAID: usize = 4;

/// The milliseconds by which the times of a start may differ that are one: two clocks are
/// read for each, one after the other.
const BLUR: u64 = 10;

/// So long nobody is looked at that may just have been forked.
const SETTLE: Duration = Duration::from_millis(20);

/// What looks for them may take of the time: one part of so many.
const SHARE: u32 = 50;

/// Whom a process has started.
#[derive(Debug)]
pub(super) struct Family {
    own: u32,
    /// When it was started, in milliseconds since 1970.
    start: u64,
    /// Whether warnings are shown.
    warns: bool,
    seen: BTreeMap<u32, Member>,
    due: Instant,
}

/// A process that was seen below the one that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    parent: u32,
    start: u64,
    exe: Option<PathBuf>,
}

impl Family {
    pub(super) fn new(root: &Root, own: u32, warns: bool) -> Family {
        Family {
            own,
            warns,
            start: Stat::read(root, own).map_or(u64::MAX, |stat| stat.start),
            seen: BTreeMap::new(),
            due: Instant::now(),
        }
    }

    /// Looks for those that there are now, if it is time.
    pub(super) fn look(&mut self, root: &Root) {
        if Instant::now() < self.due {
            return;
        }
        let begin = look::own_time();
        let mut parents = vec![self.own];
        while let Some(parent) = parents.pop() {
            for child in children(root, parent) {
                if self.note(root, parent, child) {
                    parents.push(child);
                }
            }
        }
        // A daemon has another parent by now, and may have children.
        let known: Vec<u32> = self.seen.keys().copied().collect();
        for pid in known {
            for child in children(root, pid) {
                self.note(root, pid, child);
            }
        }
        let cost = look::own_time().saturating_sub(begin);
        self.due = Instant::now() + (cost * SHARE).max(Duration::from_millis(2));
    }

    /// Keeps a process in mind; whether there was room.
    fn note(&mut self, root: &Root, parent: u32, pid: u32) -> bool {
        let Some((id, stat)) = Pid::new(pid).zip(Stat::read(root, pid)) else {
            return false;
        };
        let exe = process::exe(root, id).ok();
        if let Some(member) = self.seen.get_mut(&pid) {
            member.exe = exe.or(member.exe.take());
            return true;
        }
        let has_room = self.seen.len() < MOST;
        if has_room {
            let start = stat.start;
            self.seen.insert(pid, Member { parent, start, exe });
        }
        has_room
    }

    /// Tells of those that stay and of which the library has not told.
    pub(super) fn tell(&self, root: &Root, teller: Teller, output: &mut Output) {
        if teller == Teller::Watcher {
            // A daemon may be in the middle of its fork still.
            std::thread::sleep(SETTLE);
        }
        let stay = self.stay(root, teller);
        let untold = |library: Library| -> Vec<u32> {
            let all = stay.iter().copied();
            let of = all.filter(|pid| Library::of(root, *pid) == library);
            let is_left = |pid: &u32| teller == Teller::Watcher || !self.is_named_by(root, *pid);
            of.filter(is_left).collect()
        };
        let most = if output.is_json() { MOST } else { SAID };
        let without = match self.warns {
            true => untold(Library::Absent),
            false => Vec::new(),
        };
        for pid in eldest(root, &without).take(most) {
            output.write(warning(root, pid, output.is_json()).as_bytes());
        }
        let with = untold(Library::There);
        // One that was never seen may be another's, and its environment says so.
        let is_ours = |pid: &u32| {
            self.seen.contains_key(pid)
                || reporter(root, *pid).is_none_or(|reporter| reporter == self.own)
        };
        let with = eldest(root, &stay).filter(|pid| with.contains(pid) && is_ours(pid));
        for pid in with.take(most) {
            output.write(report(root, pid, output.is_json()).as_bytes());
        }
    }

    /// Those below it that stay.
    fn stay(&self, root: &Root, teller: Teller) -> Vec<u32> {
        let all = root.list(&KPath::from("/proc")).unwrap_or_default();
        let pids = all.iter().filter_map(|name| name.to_str()?.parse().ok());
        let (mut stay, shells): (Vec<u32>, Vec<u32>) = pids
            .filter(|pid| self.is_kin(root, *pid, teller))
            .partition(|pid| !runs_shell(root, *pid));
        // A shell that has started nothing is what was asked for.
        let parents: Vec<u32> = stay
            .iter()
            .filter_map(|pid| process::parent(root, Pid::new(*pid)?))
            .collect();
        stay.extend(shells.iter().filter(|pid| !parents.contains(pid)));
        stay
    }

    fn is_kin(&self, root: &Root, pid: u32, teller: Teller) -> bool {
        let (Some(id), Some(stat)) = (Pid::new(pid), Stat::read(root, pid)) else {
            return false;
        };
        let is_older = stat.start.saturating_add(BLUR) < self.start;
        if pid == self.own || stat.status.is_some() || is_older {
            return false;
        }
        let is_it = |seen: &&Member| seen.start.abs_diff(stat.start) <= BLUR;
        let seen = self.seen.get(&pid).filter(is_it);
        match (seen, teller) {
            (Some(seen), Teller::Library) => seen.parent != self.own,
            (Some(_), Teller::Watcher) => true,
            (None, Teller::Watcher) if self.is_named_by(root, pid) => true,
            (None, _) => self.runs_what_was_seen(root, id),
        }
    }

    /// Whether the environment of a process names the one that is watched.
    fn is_named_by(&self, root: &Root, pid: u32) -> bool {
        reporter(root, pid) == Some(self.own)
    }

    /// Whether it is the child that a process below has left, and then ended: it runs
    /// the same program, which is no shell, and has another parent.
    fn runs_what_was_seen(&self, root: &Root, id: Pid) -> bool {
        let Ok(exe) = process::exe(root, id) else {
            return false;
        };
        let is_same = |seen: &Member| seen.exe.as_ref() == Some(&exe);
        let is_left = process::parent(root, id).is_some_and(|parent| parent == 1);
        is_left && !is_shell(exe.as_os_str().as_bytes()) && self.seen.values().any(is_same)
    }
}

fn runs_shell(root: &Root, pid: u32) -> bool {
    let exe = Pid::new(pid).and_then(|id| process::exe(root, id).ok());
    exe.is_some_and(|exe| is_shell(exe.as_os_str().as_bytes()))
}

/// The children of a process, of each of its threads.
fn children(root: &Root, pid: u32) -> Vec<u32> {
    let tasks = KPath::from("/proc").join(pid).join("task");
    let threads = root.list(&tasks).unwrap_or_default();
    let texts = threads.iter().filter_map(|thread| {
        root.read(&tasks.join(thread.to_str()?).join("children"))
            .ok()
    });
    let numbers = |text: Vec<u8>| -> Vec<u32> {
        let text = String::from_utf8_lossy(&text);
        let words = text.split_ascii_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    texts.flat_map(numbers).collect()
}

/// The process that reports, as its environment has it: that one's library finds it, too.
fn reporter(root: &Root, pid: u32) -> Option<u32> {
    let environ = process::read_environ(root, Pid::new(pid)?).ok()?;
    let value = process::variable(&environ, REPORT_PID)?;
    let digits = value.split(|byte| !byte.is_ascii_digit()).next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Those whose parent is none of them: they stand for all.
fn eldest<'a>(root: &'a Root, all: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    let parent = |pid: u32| Pid::new(pid).and_then(|id| process::parent(root, id));
    let is_eldest = move |pid: &u32| parent(*pid).is_none_or(|parent| !all.contains(&parent));
    all.iter().copied().filter(is_eldest)
}

/// Whether one of our libraries is in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    There,
    Absent,
    /// It may not be looked at, or has ended.
    Unknown,
}

impl Library {
    fn of(root: &Root, pid: u32) -> Library {
        let maps = KPath::from("/proc").join(pid).join("maps");
        root.read(&maps)
            .map_or(Library::Unknown, |maps| Library::in_maps(&maps))
    }

    /// What `maps` says. Of a process that ends meanwhile it has the first part only: then
    /// the stack, which lies behind all libraries, is not in it.
    fn in_maps(maps: &[u8]) -> Library {
        let has = |text: &[u8]| memchr::memmem::find(maps, text).is_some();
        match (has(b"/libhugetlbfs"), has(b"[stack]")) {
            (true, _) => Library::There,
            (false, true) => Library::Absent,
            (false, false) => Library::Unknown,
        }
    }
}

/// What one has now, in the form that the library has for it.
fn report(root: &Root, pid: u32, json: bool) -> String {
    let snapshot = Pid::new(pid).and_then(|id| Snapshot::take(root, id).ok());
    let text = snapshot.map(|snapshot| snapshot.to_text(json));
    let text = text.unwrap_or_default();
    match json || text.is_empty() {
        true => text,
        false => {
            let line = "still running, as it is now (later: hugectl --status";
            format!("{line} {pid}):\n{text}")
        }
    }
}

/// What is said of one, in the form that reports have.
fn warning(root: &Root, pid: u32, json: bool) -> String {
    let id = Pid::new(pid);
    let name = id
        .and_then(|id| process::name(root, id))
        .unwrap_or_default();
    let origin = id.map(|id| OwnOrigin::find(root, id)).unwrap_or_default();
    let exe = id.and_then(|id| process::exe(root, id).ok());
    let exe = exe.unwrap_or_else(|| PathBuf::from("?"));
    let text = format!(
        "process {pid} ({}) still runs and has nothing of hugectl's: what started it dropped the \
         environment; start hugectl behind what drops it",
        String::from_utf8_lossy(&name)
    );
    if !json {
        return format!("hugectl: WARNING: {text}\n");
    }
    let proof = Proof {
        pid,
        exe: exe.as_os_str().as_bytes(),
        name: &name,
        origin: origin.get(),
        rows: &[],
        required: &[],
        warning: Some(&text),
        life: None,
    };
    let mut line = String::new();
    let written = proof.write_json(&mut line);
    debug_assert!(written.is_ok(), "a String takes everything");
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_process_that_ends_nothing_is_claimed() {
        let text = b"5600-5700 r-xp 00000000 08:01 7 /usr/bin/postgres\n".as_slice();
        let stack = b"7ff0-7fff rw-p 00000000 00:00 0 [stack]\n".as_slice();
        let library = b"7f00-7f10 r-xp 00000000 08:01 9 /run/libhugetlbfs.so\n".as_slice();
        let of = |parts: &[&[u8]]| Library::in_maps(&parts.concat());
        assert_eq!(of(&[]), Library::Unknown);
        assert_eq!(of(&[text]), Library::Unknown);
        assert_eq!(of(&[text, stack]), Library::Absent);
        assert_eq!(of(&[text, library, stack]), Library::There);
        assert_eq!(of(&[text, library]), Library::There);
    }
}
