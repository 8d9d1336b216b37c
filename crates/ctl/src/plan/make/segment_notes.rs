//! What there is to say about a program's segments.

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use hugetools_contract::env::Pages;
use hugetools_contract::report::is_shell;
use hugetools_model::{Bytes, PageSize};

use crate::probe::Findings;
use crate::probe::coverage::alignment::is_reachable;
use crate::probe::coverage::page_cache::{Prepared, State, Why};
use crate::probe::kernel::Hidden;
use crate::probe::target::elf_layout::{Obstacle, Part};
use crate::probe::target::{Image, Target};
use crate::request::Run;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// What is to be said before the pools are looked at.
pub(super) fn notes(run: &Run, findings: &Findings) -> Vec<Note> {
    let mut notes = options(run);
    let target = findings.look.target.as_ref();
    if let Some(target) = target.filter(|target| is_reachable(target)) {
        let classes = classes(findings);
        let hidden = findings.kernel.hides_sizes();
        notes.extend(match &findings.look.behind {
            Some(behind) if is_reachable(behind) => {
                nothing_whole(run, &of_another(&classes, behind), behind, hidden)
            }
            Some(_) => Vec::new(),
            None => nothing_whole(run, &classes, target, hidden),
        });
        notes.extend(classes.iter().filter_map(|class| too_large(class, target)));
        notes.extend(classes.iter().filter_map(measure));
        notes.extend(static_text(findings, target));
        notes.extend(
            findings
                .parts
                .obstacle
                .and_then(|why| obstacle(why, target)),
        );
        // What is left to a start is said by that.
        let is_said = |prepared: &&Prepared| !run.starts() || prepared.state != State::Left;
        notes.extend(findings.parts.prepared.iter().filter(is_said).map(describe));
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

/// A class of segments that is asked for, and its measure.
struct Class {
    subject: Subject,
    /// The page size that is asked for.
    size: Option<PageSize>,
    part: Option<Part>,
}

impl Class {
    fn is_whole_somewhere(&self) -> bool {
        self.part.is_some_and(|part| part.inner > Bytes::default())
    }
}

fn classes(findings: &Findings) -> Vec<Class> {
    let (asked, served, parts) = (&findings.asked, &findings.served, &findings.parts);
    let all = [
        (asked.text, Subject::TEXT, parts.text),
        // Of a static program only text can be reached, by the page cache.
        (served.data, Subject::DATA, parts.data),
    ];
    let asked = all.into_iter().filter(|(pages, _, _)| pages.is_some());
    let class = |(pages, subject, part): (Option<Pages>, _, _)| Class {
        subject,
        size: match pages {
            Some(Pages::Size(bytes)) => PageSize::new(bytes),
            _ => None,
        },
        part,
    };
    asked.map(class).collect()
}

/// The same classes of the program that a wrapper leads to.
fn of_another(classes: &[Class], target: &Target) -> Vec<Class> {
    let class = |class: &Class| Class {
        subject: class.subject,
        size: class.size,
        part: class.part.map(|part| match class.subject {
            Subject::TEXT => target.layout.text(part.size),
            _ => target.layout.data(part.size),
        }),
    };
    classes.iter().map(class).collect()
}

/// No page of the size that was asked for fits, but smaller ones do.
fn too_large(class: &Class, target: &Target) -> Option<Note> {
    let part = class.part.filter(|_| class.is_whole_somewhere())?;
    let size = class.size.filter(|size| *size > part.size)?;
    let measured = match class.subject {
        Subject::TEXT => target.layout.text(size),
        _ => target.layout.data(size),
    };
    (measured.inner == Bytes::default()).then(|| {
        let (names, program) = (class.subject.names(), target.program.display());
        let fact = format!("no whole {size} page lies in {names} of {program}");
        let short = Shortfall::new(class.subject, fact).then("smaller pages are taken");
        Note::short(Level::Warning, short.says(program, measured.all.get()))
    })
}

/// One line for all that cannot be on huge pages, and how to change that. `hidden` is what
/// would tell of which sizes these are, and is not there.
fn nothing_whole(
    run: &Run,
    classes: &[Class],
    target: &Target,
    hidden: Option<Hidden>,
) -> Vec<Note> {
    let none = || classes.iter().filter(|class| !class.is_whole_somewhere());
    let subject = none().fold(Subject::NONE, |all, class| all | class.subject);
    if subject.is_none() {
        return Vec::new();
    }
    let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
    let program = target.program.display();
    // Libraries may be what was meant.
    let note = |short: Shortfall| match run.segments.libraries {
        true => Note::info(short.to_string()),
        false => Note::short(Level::Warning, short),
    };
    let Some(part) = none().find_map(|class| class.part) else {
        let short = match hidden {
            Some(hidden) => {
                let fact = format!("which huge pages there are cannot be told, since {hidden}");
                let short = Shortfall::new(subject, fact).says(hidden.path(), hidden.value());
                short.mend("to see it", hidden.to_see())
            }
            None => Shortfall::new(subject, "this machine has no huge pages for them"),
        };
        let short = short.outcome(format!("{names} {stay} on base pages"));
        return vec![note(short)];
    };
    let size = part.size;
    let all = none().filter_map(|class| class.part);
    let all = all.fold(0u64, |sum, part| sum.saturating_add(part.all.get()));
    let short = Shortfall::new(subject, format!("no whole {size} page lies there"));
    let short = short.outcome(format!("{names} of {program} {stay} on base pages"));
    // A script is rarely what is meant.
    let short = match is_shell(target.program.as_os_str().as_bytes()) {
        true => short.advise("what it starts may have some, as --report=FILE says of each process"),
        false => short.mend_some_day(RELINK),
    };
    vec![
        note(short.says(&program, all)),
        Note::info(format!("to align {program} to {size} pages, {RELINK}")),
    ]
}

/// What aligns all segments of a program.
pub(crate) const RELINK: &str =
    "link it with gcc -B<directory of ld.hugetlbfs> -Wl,--hugetlbfs-align";

/// How much of each class can be on huge pages.
fn measure(class: &Class) -> Option<Note> {
    let part = class.part.filter(|_| class.is_whole_somewhere())?;
    let (inner, all, size) = (Amount(part.inner), Amount(part.all), part.size);
    let most = if part.exact { "" } else { "at most " };
    let names = class.subject.names();
    Some(Note::info(format!(
        "{names}: {most}{inner} of {all} lie in whole {size} pages"
    )))
}

/// The kernel maps huge pages of the page cache by itself.
fn static_text(findings: &Findings, target: &Target) -> Option<Note> {
    let is_asked = findings.asked.text.is_some() && findings.parts.text?.inner > Bytes::default();
    let has_own = findings.parts.own(target) > Bytes::default();
    (target.image == Image::Static && is_asked && !has_own).then(static_text_is_short)
}

/// The huge pages of the file are all that a static program could have.
pub(crate) fn static_text_is_short() -> Note {
    let fact = "the program is static, so no library can be added to it, and the huge pages \
                    of its file cannot be had";
    let short = Shortfall::new(Subject::TEXT, fact).outcome("text stays on base pages");
    Note::short(Level::Warning, short)
}

fn obstacle(why: Obstacle, target: &Target) -> Option<Note> {
    let program = target.program.display();
    let text = match why {
        Obstacle::Small => return None,
        Obstacle::Alignment(align) => format!(
            "text cannot be on huge pages of its file: {program} is aligned to {} only; to change \
             that: hugeedit --align {program}",
            Bytes::new(align)
        ),
        Obstacle::Offsets => format!(
            "text cannot be on huge pages of its file: addresses and offsets of {program} do not \
             agree; to align it, {RELINK}"
        ),
    };
    Some(Note::info(text))
}

/// What became of the page cache, and what it cost.
pub(crate) fn describe(prepared: &Prepared) -> Note {
    let (wanted, path) = (Amount(prepared.wanted), prepared.job.path.display());
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
            bytes => write!(f, "{} MB", bytes.saturating_add(MIB / 2) / MIB),
        }
    }
}

struct Milliseconds(Duration);

impl std::fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ms", self.0.as_secs_f64() * 1e3)
    }
}
