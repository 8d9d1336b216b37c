//! `--pid`: moves memory of running processes.

use std::path::{Path, PathBuf};

use hugetools_contract::env::Pages;
use hugetools_contract::segment::Segment;
use hugetools_model::Bytes;

use super::{ProcessSelector, heap, optional_pages, usage};
use crate::args::{Args, given};
use crate::say::failure::Failure;

/// The default segments: all private memory.
const PRIVATE: [Segment; 5] = [
    Segment::Data,
    Segment::Bss,
    Segment::Heap,
    Segment::Stack,
    Segment::Anon,
];

/// Move memory of running processes to huge pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopt {
    /// The processes.
    pub processes: Vec<ProcessSelector>,
    /// `--children`
    pub children: bool,
    /// The segments, in the order of reports.
    pub(crate) segments: Vec<Segment>,
    /// Maximum share of one CPU (percent).
    pub budget: u8,
    /// Minimum share of a huge page that must be touched (percent).
    pub(crate) touched: u8,
    /// `--dry-run`
    pub dry_run: bool,
    /// `--json`
    pub json: bool,
    /// `--sysroot`
    pub sysroot: Option<PathBuf>,
}

pub(super) fn adopt(args: Args) -> Result<Adopt, Failure> {
    check(&args)?;
    let processes = args
        .running
        .pid
        .iter()
        .map(|word| match ProcessSelector::parse(word) {
            Ok(ProcessSelector::All) => Err("all: give process IDs or names".to_owned()),
            other => other,
        });
    let processes = processes.collect::<Result<Vec<ProcessSelector>, String>>();
    Ok(Adopt {
        processes: processes.or_else(|why| usage(format!("--pid {why}")))?,
        children: args.running.children,
        segments: segments(&args)?,
        budget: args.running.budget.unwrap_or(25),
        touched: args.running.touched.unwrap_or(50),
        dry_run: args.reports.dry_run,
        json: args.reports.json,
        sysroot: args.reports.sysroot,
    })
}

fn check(args: &Args) -> Result<(), Failure> {
    let program = args.command.first().map(|word| Path::new(word).display());
    let option = args
        .given
        .first_not_of(&[given::PID, given::PID_TOO, given::ANY]);
    let option = option.map(str::to_owned);
    if let Some(what) = option.or(program.map(|program| program.to_string())) {
        return usage(format!(
            "--pid starts no program, so {what} has no meaning with it"
        ));
    }
    if args.reports.sysroot.is_some() && !args.reports.dry_run {
        return usage("--sysroot needs --dry-run with --pid: nothing runs on a recorded machine");
    }
    Ok(())
}

fn segments(args: &Args) -> Result<Vec<Segment>, Failure> {
    let segments = &args.segments;
    let mut asked = Vec::new();
    for (segment, word) in [
        (Segment::Text, segments.text.as_deref()),
        (Segment::Data, segments.data.as_deref()),
        (Segment::Bss, segments.bss.as_deref()),
        (Segment::Heap, segments.heap.as_deref()),
        (Segment::Stack, segments.stack.as_deref()),
        (Segment::Shm, segments.shm.as_deref()),
        (Segment::Anon, segments.anon.as_deref()),
    ] {
        let option = format!("--{}", segment.name());
        let pages = match segment {
            Segment::Heap => heap(args)?,
            _ => optional_pages(&option, word)?,
        };
        match pages {
            None => {}
            Some(Pages::Default | Pages::Thp) => asked.push(segment),
            Some(Pages::Size(size)) => {
                return usage(format!(
                    "{option}={}: --pid uses transparent huge pages only; for pool pages, start \
                     the program with hugectl",
                    Bytes::new(size)
                ));
            }
        }
    }
    match asked.is_empty() {
        true => Ok(PRIVATE.to_vec()),
        false => Ok(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use hugetools_model::process::Pid;
    use std::ffi::OsString;

    fn read(line: &str) -> Result<Adopt, String> {
        let words = std::iter::once("hugectl").chain(line.split(' '));
        let args = crate::args::parse(words.map(OsString::from)).unwrap();
        match Request::from_args(args) {
            Ok(Request::Adopt(adopt)) => Ok(adopt),
            Ok(other) => panic!("{other:?}"),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn processes_and_segments() {
        let all = read("--pid 7,redis --children").unwrap();
        let seven = ProcessSelector::Pid(Pid::new(7).unwrap());
        assert_eq!(
            all.processes,
            [seven, ProcessSelector::Name("redis".to_owned())]
        );
        assert_eq!((all.budget, all.touched), (25, 50));
        assert_eq!(all.segments, PRIVATE);
        let some = read("--anon --heap=thp --pid=7").unwrap();
        assert_eq!(some.segments, [Segment::Heap, Segment::Anon]);
        for line in ["--pid 7 --thp", "--pid 7 --thp --heap=2MB"] {
            assert_eq!(read(line).unwrap().segments, [Segment::Heap]);
        }
        for (line, message) in [
            ("--pid 7 --limit=1G", "so --limit has no meaning"),
            ("--pid 7 --heap=2MB", "--heap=2MB: --pid uses"),
            ("--pid 7 --heap=2mfoo", "--heap=2mfoo: unknown unit"),
            ("--pid 7 --thp --heap=foo", "--heap=foo: neither thp"),
            ("--pid 7 --sysroot /", "--sysroot needs --dry-run"),
        ] {
            let why = read(line).unwrap_err();
            assert!(why.contains(message), "{line}: {why}");
        }
    }
}
