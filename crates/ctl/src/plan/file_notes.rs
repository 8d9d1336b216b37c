//! Notes about the program's file: how much of text, data and bss lies in whole huge
//! pages, and which text the page cache holds on huge pages.

use std::os::unix::ffi::OsStrExt;

use hugetools_contract::report::is_shell;
use hugetools_model::Bytes;

use crate::probe::Findings;
use crate::probe::coverage::alignment::is_reachable;
use crate::probe::coverage::page_cache::{CachedText, State, Why};
use crate::probe::target::elf_layout::{Obstacle, Part};
use crate::probe::target::{Image, Target};
use crate::request::Run;
use crate::say::amount::Amount;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

pub(super) fn notes(run: &Run, findings: &Findings, is_left_out: bool) -> Vec<Note> {
    let mut notes: Vec<Note> = conflicts(run).into_iter().collect();
    let target = findings.look.target.as_ref();
    let Some(target) = target.filter(|target| is_reachable(target)) else {
        return notes;
    };
    notes.extend(no_whole_page(run, findings, target));
    let parts = &findings.parts;
    notes.extend(requested(findings).filter_map(measure));
    let wants_text = findings.asked.text.is_some() && parts.text.is_some_and(has_whole_page);
    if target.image == Image::Static && wants_text && parts.own(target) == Bytes::default() {
        notes.push(static_text_not_huge());
    }
    notes.extend(
        parts
            .obstacle
            .and_then(|why| obstacle(why, target, findings)),
    );
    // `apply` reports its attempts. It makes none for a program that `--only` leaves out.
    let is_known = |cached: &&CachedText| !run.starts() || cached.state != State::Untried;
    let known = parts.text_files.iter().filter(|_| !is_left_out);
    notes.extend(known.filter(is_known).map(describe));
    notes
}

/// Warns about options that override each other.
fn conflicts(run: &Run) -> Option<Note> {
    let text = match run.segments.off && run.segments.request_any() {
        true => "--disable overrides --text, --text-libs, --data and --bss",
        false if run.segments.data_differs_from_bss() => {
            "data and bss are one segment: the pages of --data count for both"
        }
        false => return None,
    };
    Some(Note::warning(text))
}

/// Returns the requested segments with their measures. In a static program only text can be huge,
/// by the page cache.
fn requested(findings: &Findings) -> impl Iterator<Item = (Subject, Option<Part>)> {
    let (asked, served, parts) = (&findings.asked, &findings.served, &findings.parts);
    let text = asked.text.map(|_| (Subject::TEXT, parts.text));
    let data = served.data.map(|_| (Subject::DATA, parts.data));
    text.into_iter().chain(data)
}

fn has_whole_page(part: Part) -> bool {
    part.inner > Bytes::default()
}

/// A segment smaller than a huge page divided by this is tiny (64 kB for 2 MB).
const TINY: u64 = 32;

/// Returns one note for all segments without a whole huge page. For a wrapper, measures the program
/// that it starts.
fn no_whole_page(run: &Run, findings: &Findings, target: &Target) -> Option<Note> {
    let wrapped = findings.look.wrapped.as_ref();
    if wrapped.is_some_and(|wrapped| !is_reachable(wrapped)) {
        return None;
    }
    let measured = requested(findings).map(|(subject, part)| match (wrapped, part) {
        (Some(wrapped), Some(part)) if subject == Subject::TEXT => {
            (subject, Some(wrapped.layout.text(part.size)))
        }
        (Some(wrapped), Some(part)) => (subject, Some(wrapped.layout.data(part.size))),
        (_, part) => (subject, part),
    });
    let none = measured.filter(|(_, part)| !part.is_some_and(has_whole_page));
    let none: Vec<(Subject, Option<Part>)> = none.collect();
    let subject = none.iter().fold(Subject::NONE, |all, (one, _)| all | *one);
    if subject.is_none() {
        return None;
    }
    let short = nothing_huge(findings, wrapped.unwrap_or(target), subject, &none);
    // Huge pages gain nothing for so little memory.
    let is_tiny =
        |(_, part): &(_, Option<Part>)| part.is_some_and(|it| it.all.get() < it.size.get() / TINY);
    let level = match none.iter().all(is_tiny) {
        true => Level::Info,
        false => Level::Warning,
    };
    // With --text-libs, the request may be about libraries.
    Some(match run.segments.libraries {
        true => Note::info(short.to_string()),
        false => Note::short(level, short),
    })
}

fn nothing_huge(
    findings: &Findings,
    target: &Target,
    subject: Subject,
    none: &[(Subject, Option<Part>)],
) -> Shortfall {
    let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
    let parts = none.iter().filter_map(|(_, part)| *part);
    let Some(size) = parts.clone().next().map(|part| part.size) else {
        let kernel = &findings.kernel;
        let short = match kernel.no_pools.0.or(kernel.thp_hidden) {
            Some(hidden) => {
                let fact = format!("the sizes of huge pages are unknown, since {hidden}");
                hidden.explain(Shortfall::new(subject, fact))
            }
            None => Shortfall::new(subject, "this machine has no huge pages"),
        };
        return short.consequence_first(format!("{names} {stay} on base pages"));
    };
    let program = target.program.display();
    let all: u64 = parts.map(|part| part.all.get()).sum();
    let short = Shortfall::new(subject, format!("no whole {size} page fits there"));
    let short = short.consequence_first(format!("{names} of {program} {stay} on base pages"));
    let short = short.source(program, Amount(Bytes::new(all)));
    match is_shell(target.program.as_os_str().as_bytes()) {
        true => short.advise("for the programs that it starts, see --report=FILE"),
        false => short.mend_some_day(&findings.relink),
    }
}

/// Notes how much of a segment lies in whole huge pages.
fn measure((subject, part): (Subject, Option<Part>)) -> Option<Note> {
    let part = part.filter(|part| has_whole_page(*part))?;
    let (inner, all, size) = (Amount(part.inner), Amount(part.all), part.size);
    let most = if part.exact { "" } else { "at most " };
    let names = subject.names();
    Some(Note::info(format!(
        "{names}: {most}{inner} of {all} lie in whole {size} pages"
    )))
}

/// Warns that a static program's text is not all on huge pages of its file.
pub(crate) fn static_text_not_huge() -> Note {
    let fact = "the program is static, so no library can be added to it, and its file is not \
                all on huge pages";
    let short =
        Shortfall::new(Subject::TEXT, fact).consequence_first("text is not all on huge pages");
    Note::short(Level::Warning, short)
}

fn obstacle(why: Obstacle, target: &Target, findings: &Findings) -> Option<Note> {
    let (program, relink) = (target.program.display(), &findings.relink);
    let text = match why {
        Obstacle::Small => return None,
        Obstacle::Alignment(align) => format!(
            "text cannot be on huge pages of its file: {program} is aligned to {} only; to change \
             that: hugeedit --align {program}",
            Bytes::new(align)
        ),
        Obstacle::Offsets => format!(
            "text cannot be on huge pages of its file: vaddr and offset of {program} are \
             not congruent; to align it, {relink}"
        ),
    };
    Some(Note::info(text))
}

/// Describes how much of a file's text is on huge pages of the page cache.
pub(crate) fn describe(cached: &CachedText) -> Note {
    let (wanted, path) = (Amount(cached.wanted), cached.text.path.display());
    Note::info(match &cached.state {
        State::Ready => format!("text: {wanted} are huge pages of {path} already"),
        State::Filled => format!("text: {wanted} are huge pages of {path} now"),
        State::Untried => format!("text: a start tries to put {wanted} on huge pages of {path}"),
        State::Short { huge, why } => {
            let huge = match huge {
                Some(huge) => format!("{} of {wanted} are", Amount(*huge)),
                None => format!("{wanted} cannot all be"),
            };
            format!("text: {huge} huge pages of {path}: {}", reason(why))
        }
    })
}

fn reason(why: &Why) -> String {
    match why {
        Why::FileSystem => "its file system keeps it on base pages".to_owned(),
        Why::Temporary => {
            "other processes use it on base pages, or there was no huge page".to_owned()
        }
        Why::Failed(why) => why.clone(),
    }
}
