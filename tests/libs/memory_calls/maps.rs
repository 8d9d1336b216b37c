//! What `/proc/self/smaps` says of memory of each kind after each call that changes it:
//! where its parts begin and end, their rights, their file and offset, and what the program
//! asked for by advice, as without us. Where it may be otherwise is in one table.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::live::{can_be_set, machine};
use crate::support::long;
use crate::support::needs::{control_groups, others};
use crate::support::program::{Libc, build};
use crate::support::still::without_pool;
use crate::support::tool::{Ran, hugectl};

/// Options of hugectl, alone and together.
const OPTIONS: [&[&str]; 8] = [
    &["--heap"],
    &["--heap=thp"],
    &["--anon"],
    &["--stack"],
    &["--shm"],
    &["--shm=thp"],
    &["--heap", "--anon", "--stack", "--shm"],
    &["--report=/dev/null"],
];

/// Those for which it matters that a pool has nothing.
const ASK_A_POOL: [&str; 2] = ["--heap", "--shm"];

/// Enough for whatever the program has at once, and none.
const POOLS: [u64; 2] = [60, 0];

/// Where the maps may be otherwise.
struct Difference {
    /// With an option that begins so.
    option: &'static str,
    /// With pages in the pool only.
    on_pool: bool,
    /// Of memory of kinds whose names begin so.
    kind: &'static str,
    /// After calls whose names begin so.
    call: &'static str,
    /// Flags that may be missing, and with them the borders between parts that differ in
    /// nothing else.
    flags: &'static [&'static str],
    /// Why that is so.
    #[expect(dead_code, reason = "for who reads the table")]
    why: &'static str,
}

const HINTS: &str = "a hint for the kernel's reading ahead of files, of no use to huge pages";
const LOCKED: &str = "pages of a pool are never swapped out: the lock is noted by us, and given \
                      to what takes their place";
const MADE: &str = "pages of a pool are reserved by the pool's own account, and are no \
                    transparent ones";
const STACK: &str = "of a thread's stack whole huge pages are advised: the kernel has others not \
                     huge, and their advice differs";

#[rustfmt::skip]
const MAY_DIFFER: [Difference; 13] = [
    Difference { option: "--shm", on_pool: true, kind: "shared", call: "madvise", flags: &["rr", "sr"], why: HINTS },
    Difference { option: "--shm", on_pool: true, kind: "shared", call: "mlock", flags: &["lo"], why: LOCKED },
    Difference { option: "--shm", on_pool: true, kind: "segment", call: "madvise", flags: &["rr", "sr"], why: HINTS },
    Difference { option: "--shm", on_pool: true, kind: "segment", call: "mlock", flags: &["lo"], why: LOCKED },
    Difference { option: "--shm", on_pool: true, kind: "shared", call: "made", flags: &[], why: MADE },
    Difference { option: "--shm", on_pool: true, kind: "shared", call: "prctl", flags: &[], why: MADE },
    Difference { option: "--shm", on_pool: true, kind: "shared", call: "written", flags: &[], why: MADE },
    Difference { option: "--shm", on_pool: true, kind: "made shared", call: "mmap noreserve", flags: &["nr"], why: MADE },
    Difference { option: "--shm", on_pool: true, kind: "made shared", call: "mmap populate", flags: &[], why: MADE },
    Difference { option: "--shm", on_pool: true, kind: "made shared", call: "mmap stack", flags: &["nh"], why: MADE },
    Difference { option: "--shm", on_pool: false, kind: "made shared", call: "mmap stack", flags: &["nh"], why: "huge pages were asked for, of such memory too" },
    Difference { option: "--stack", on_pool: false, kind: "thread", call: "made", flags: &["nh"], why: STACK },
    Difference { option: "--stack", on_pool: false, kind: "thread", call: "mprotect", flags: &["nh"], why: STACK },
];

impl Difference {
    /// Whether two lines may differ so, and no further.
    fn allows(&self, plain: &Line<'_>, ours: &Line<'_>, options: &[&str], pool: u64) -> bool {
        let is_meant = options.iter().any(|option| option.starts_with(self.option))
            && (pool > 0 || !self.on_pool)
            && plain.kind.starts_with(self.kind)
            && plain.call.starts_with(self.call);
        is_meant && plain.without(self.flags) == ours.without(self.flags)
    }
}

/// `KIND CALL: RESULT ERRNO | PART | …`
#[derive(Debug, PartialEq, Eq)]
struct Line<'t> {
    kind: &'t str,
    call: &'t str,
    result: &'t str,
    parts: Vec<Part<'t>>,
}

/// `FIRST-END RIGHTS OFFSET NAME [FLAGS]`, in pages
#[derive(Debug, PartialEq, Eq)]
struct Part<'t> {
    first: u64,
    end: u64,
    rights: &'t str,
    offset: u64,
    name: &'t str,
    flags: Vec<&'t str>,
}

impl<'t> Line<'t> {
    fn parse(line: &'t str) -> Option<Line<'t>> {
        let (what, told) = line.split_once(": ")?;
        // Two kinds have a name of two words.
        let words = if what.starts_with("made ") { 2 } else { 1 };
        let (cut, _) = what.match_indices(' ').nth(words - 1)?;
        let mut parts = told.split(" | ");
        Some(Line {
            kind: &what[..cut],
            call: &what[cut + 1..],
            result: parts.next()?,
            parts: parts.map(Part::parse).collect::<Option<_>>()?,
        })
    }

    /// The same without these flags, and pages of a pool by the name of others.
    fn without(&self, flags: &[&str]) -> Line<'t> {
        let mut parts: Vec<Part<'t>> = Vec::new();
        for part in &self.parts {
            let part = part.without(flags);
            match parts.last_mut() {
                Some(last) if last.goes_on_in(&part) => last.end = part.end,
                _ => parts.push(part),
            }
        }
        Line { parts, ..*self }
    }
}

impl<'t> Part<'t> {
    fn parse(text: &'t str) -> Option<Part<'t>> {
        let (text, flags) = text.strip_suffix(']')?.split_once(" [")?;
        let mut words = text.splitn(4, ' ');
        let (first, end) = words.next()?.split_once('-')?;
        Some(Part {
            first: first.parse().ok()?,
            end: end.parse().ok()?,
            rights: words.next()?,
            offset: u64::from_str_radix(words.next()?, 16).ok()?,
            name: words.next()?,
            flags: flags.split_whitespace().collect(),
        })
    }

    fn without(&self, flags: &[&str]) -> Part<'t> {
        let kept = self.flags.iter().filter(|flag| !flags.contains(flag));
        Part {
            name: match self.name {
                "/anon_hugepage (deleted)" => "/dev/zero (deleted)",
                name => name,
            },
            flags: kept.copied().collect(),
            ..*self
        }
    }

    /// Whether both would be one, were it not for what is left out.
    fn goes_on_in(&self, next: &Part<'_>) -> bool {
        let offset = match self.name {
            "-" => 0,
            _ => self.offset + (self.end - self.first),
        };
        self.end == next.first
            && next.offset == offset
            && (self.rights, self.name, &self.flags) == (next.rights, next.name, &next.flags)
    }
}

/// What the program says, under hugectl where there are options.
fn run(program: &Path, options: &[&str], as_nobody: bool) -> String {
    let (user, words): (&str, &[&str]) = match as_nobody {
        true => (
            "nobody",
            &[
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
            ],
        ),
        false => ("root", &["env"]),
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    if !options.is_empty() {
        command.arg(hugectl()).arg("-q").args(options);
    }
    let ran: Ran = command.arg(program).output().unwrap().into();
    let what = format!("{options:?} as {user}: {}", ran.err);
    assert!(ran.status == 0 && ran.out.ends_with("end\n"), "{what}");
    ran.out
}

fn differences(plain: &str, ours: &str, options: &[&str], pool: u64) -> Vec<String> {
    assert_eq!(plain.lines().count(), ours.lines().count(), "{options:?}");
    let lines = plain.lines().zip(ours.lines());
    let wrong = lines.filter(|(plain, ours)| plain != ours).filter(|lines| {
        let both = (Line::parse(lines.0), Line::parse(lines.1));
        let (Some(plain), Some(ours)) = both else {
            return true;
        };
        let mut table = MAY_DIFFER.iter();
        !table.any(|may| may.allows(&plain, &ours, options, pool))
    });
    wrong
        .map(|(plain, ours)| format!("plainly  {plain}\nunder us {ours}\n"))
        .collect()
}

/// The options in a long test with each user; in a short one root has them one by one,
/// nobody all together.
fn options(pool: u64, as_nobody: bool) -> impl Iterator<Item = &'static [&'static str]> {
    let is_short = long::length() < Duration::from_secs(20);
    OPTIONS.into_iter().filter(move |options| {
        let concerns = pool > 0 || options.iter().any(|it| ASK_A_POOL.contains(it));
        let several = options.len() > 1;
        concerns && (!is_short || as_nobody == several)
    })
}

/// Does it with such a pool, whose pages come back. The machine is taken for each, so that
/// others get their turn.
fn with_pool<T>(pool: u64, what: impl Fn() -> T) -> Option<T> {
    if pool == 0 {
        let _still = without_pool(TEST)?;
        return Some(what());
    }
    let live = machine(TEST)?;
    live.set_pool(pool);
    let done = what();
    assert_eq!(live.free_pages_at_last(pool), pool);
    Some(done)
}

fn compare(program: &Path, as_nobody: bool) {
    let plain = run(program, &[], as_nobody);
    assert!(plain.lines().count() > 1200, "{plain}");
    for pool in POOLS {
        for options in options(pool, as_nobody) {
            let Some(ours) = with_pool(pool, || run(program, options, as_nobody)) else {
                return;
            };
            let wrong = differences(&plain, &ours, options, pool);
            let what = format!("{options:?}, pool {pool}, as nobody: {as_nobody}");
            assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
        }
    }
}

const TEST: &str = "maps after calls";

#[test]
fn the_maps_after_each_call_are_as_without() {
    if !can_be_set(TEST) || !control_groups(TEST) {
        return;
    }
    let Some(program) = build("maps_calls", Libc::Glibc, &["-pthread"]) else {
        return;
    };
    for as_nobody in [false, true] {
        if as_nobody && !others(TEST, &program) {
            return;
        }
        compare(&program, as_nobody);
    }
}

/// A comparison that lets nothing but the table pass.
#[test]
fn other_differences_of_maps_are_found() {
    let plain = "shared madvise random: 0 0 | 0-9 rw-s 0 /dev/zero (deleted) [] | 9-10 rw-s 9 \
                 /dev/zero (deleted) [ rr ]\n";
    let shm: &[&str] = &["--shm"];
    let found = |ours: &str, options, pool| differences(plain, ours, options, pool).len();
    let huge = "shared madvise random: 0 0 | 0-10 rw-s 0 /anon_hugepage (deleted) []\n";
    assert_eq!(found(plain, &[], 0), 0);
    assert_eq!(found(huge, shm, 1), 0);
    assert_eq!(found(huge, shm, 0), 1);
    assert_eq!(found(huge, &["--heap"], 1), 1);
    for (from, to) in [
        ("0 0", "0 1"),
        ("rw-s", "r--s"),
        ("0-10", "0-11"),
        ("[]", "[ dd ]"),
    ] {
        assert_eq!(found(&huge.replace(from, to), shm, 1), 1, "{from} {to}");
    }
}
