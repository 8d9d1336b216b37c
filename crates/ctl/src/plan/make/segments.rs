//! What there is to say about a program's segments.

use std::time::Duration;

use hugetools_model::Bytes;

use crate::explore::Findings;
use crate::layout::{Obstacle, Part};
use crate::note::Note;
use crate::parts::is_reachable;
use crate::prepare::{Prepared, State, Why};
use crate::request::Run;
use crate::target::{Image, Target};

/// What is to be said before the pools are looked at.
pub(super) fn notes(run: &Run, findings: &Findings) -> Vec<Note> {
    let mut notes = options(run);
    let target = findings.look.target.as_ref();
    if let Some(target) = target.filter(|target| is_reachable(target)) {
        notes.extend(nothing_whole(findings, target));
        notes.extend(measures(findings));
        notes.extend(static_text(findings, target));
        notes.extend(
            findings
                .parts
                .obstacle
                .and_then(|why| obstacle(why, target)),
        );
        notes.extend(findings.parts.prepared.iter().map(describe));
    }
    notes
}

/// Options of which one masks another.
fn options(run: &Run) -> Vec<Note> {
    let mut notes = Vec::new();
    if run.segments.off && run.segments.name_any() {
        notes.push(Note::warning(
            "--disable: text, data and bss stay where they are, although they are asked for",
        ));
    } else if run.segments.disagree() {
        notes.push(Note::warning(
            "data and bss are one segment: the pages of --data count for both",
        ));
    }
    notes
}

/// The classes that are asked for, with their measure.
fn classes(findings: &Findings) -> [(&'static [&'static str], bool, Option<Part>); 2] {
    let (asked, parts) = (&findings.asked, &findings.parts);
    // Of a static program only text can be reached, by the page cache.
    let data = asked.data.is_some() && findings.served.data.is_some();
    [
        (&["text"], asked.text.is_some(), parts.text),
        (&["data", "bss"], data, parts.data),
    ]
}

/// One line for all that cannot be on huge pages, and how to change that.
fn nothing_whole(findings: &Findings, target: &Target) -> Vec<Note> {
    let is_none = |part: &Part| part.inner == Bytes::default();
    let classes = classes(findings);
    let none = classes
        .iter()
        .filter(|(_, is_asked, part)| *is_asked && part.as_ref().is_none_or(is_none));
    let names: Vec<&str> = none
        .clone()
        .flat_map(|(names, _, _)| names.iter().copied())
        .collect();
    let part = none.clone().find_map(|(_, _, part)| *part);
    let (Some((last, first)), program) = (names.split_last(), target.program.display()) else {
        return Vec::new();
    };
    let (names, stay) = match first {
        [] => ((*last).to_owned(), "stays"),
        first => (format!("{} and {last}", first.join(", ")), "stay"),
    };
    let Some(part) = part else {
        let text = format!("{names} {stay} on base pages: this machine has no huge pages for them");
        return vec![Note::warning(text)];
    };
    let size = part.size;
    let text =
        format!("{names} of {program} {stay} on base pages: no whole {size} page lies there");
    vec![
        Note::warning(text),
        Note::info(format!(
            "to align it to {size} pages, link it with gcc -B<directory of ld.hugetlbfs> -Wl,--hugetlbfs-align"
        )),
    ]
}

/// How much of each class can be on huge pages.
fn measures(findings: &Findings) -> Vec<Note> {
    let classes = classes(findings);
    let found = classes.iter().filter_map(|(names, is_asked, part)| {
        let part = part.filter(|part| *is_asked && part.inner > Bytes::default())?;
        let (inner, all, size) = (Amount(part.inner), Amount(part.all), part.size);
        let most = if part.exact { "" } else { "at most " };
        let names = names.join(" and ");
        Some(Note::info(format!(
            "{names}: {most}{inner} of {all} lie in whole {size} pages"
        )))
    });
    found.collect()
}

/// The kernel maps huge pages of the page cache by itself.
fn static_text(findings: &Findings, target: &Target) -> Option<Note> {
    let is_asked = findings.asked.text.is_some() && findings.parts.text?.inner > Bytes::default();
    let has_own = findings.parts.own(target) > Bytes::default();
    (target.image == Image::Static && is_asked && !has_own).then(|| {
        Note::warning(
            "text stays on base pages: the program is static, so no library can be added to it, \
             and the huge pages of its file cannot be had",
        )
    })
}

fn obstacle(why: Obstacle, target: &Target) -> Option<Note> {
    let program = target.program.display();
    let text = match why {
        Obstacle::Small => return None,
        Obstacle::Alignment(align) => format!(
            "text cannot be on huge pages of its file: {program} may be loaded at any {}; to align \
             it: hugeedit --align {program}",
            Bytes::new(align)
        ),
        Obstacle::Offsets => format!(
            "text cannot be on huge pages of its file: addresses and offsets of {program} do not \
             agree; to align it, link it with gcc -B<directory of ld.hugetlbfs> -Wl,--hugetlbfs-align"
        ),
    };
    Some(Note::info(text))
}

/// What became of the page cache, and what it cost.
fn describe(prepared: &Prepared) -> Note {
    let (wanted, path) = (Amount(prepared.wanted), prepared.path.display());
    let cost = Milliseconds(prepared.cost);
    Note::info(match &prepared.state {
        State::Ready => format!("text: {wanted} are huge pages of {path} already ({cost})"),
        State::Made => format!("text: {wanted} are huge pages of {path} now ({cost})"),
        State::Left => format!("text: {wanted} may be huge pages of {path}: the start will try"),
        State::Short { huge, why } => {
            let huge = match huge {
                Some(huge) => format!("{} of {wanted} are", Amount(*huge)),
                None => format!("{wanted} cannot all be"),
            };
            let why = reason(why);
            format!("text: {huge} huge pages of {path}: {why} ({cost})")
        }
    })
}

fn reason(why: &Why) -> String {
    match why {
        Why::FileSystem => "its file system keeps it on base pages".to_owned(),
        Why::InUse => "other processes use it on base pages, or there was no huge page".to_owned(),
        Why::Waited => "another hugectl was at it for too long".to_owned(),
        Why::NoMemory(why) => format!("there is no place to remember a try ({why})"),
        Why::Failed(why) => why.clone(),
    }
}

/// Bytes, roughly.
struct Amount(Bytes);

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MIB: u64 = 1 << 20;
        match self.0.get() {
            0 => f.write_str("nothing"),
            bytes if bytes < MIB => write!(f, "{} KB", bytes.div_ceil(1024)),
            bytes => write!(f, "{} MB", (bytes + MIB / 2) / MIB),
        }
    }
}

struct Milliseconds(Duration);

impl std::fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ms", self.0.as_secs_f64() * 1e3)
    }
}
