//! `--explain`: what each requested segment would get, and what would fall short, as the plan
//! has it. Adds notes that only an explanation needs.

mod text;

use hugetools_contract::env::Pages;
use hugetools_contract::segment::Segment;
use hugetools_model::Head;
use serde::Serialize;

use crate::plan::{Plan, Required, Row, Rung};
use crate::probe::Findings;
use crate::probe::command_line::known_programs::KnownProgram;
use crate::probe::heap_engine::{self, Engine};
use crate::probe::target::elf_layout::Obstacle;
use crate::probe::target::{Image, Libc, Target};
use crate::request::Run;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

const MET: u8 = 0;

/// Exit status: something falls short.
const SHORT: u8 = 3;

/// Exit status: the program cannot be read.
const UNKNOWN: u8 = 125;

/// A row of the plan, with shortfalls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// The segment's shortfalls; none before its last row.
    pub(crate) shortfalls: Vec<Shortfall>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Program {
    /// The file that is started.
    pub(crate) path: String,
    /// Scripts and interpreters that lead to the program that runs.
    pub(crate) through: Vec<String>,
    pub(crate) runs: String,
    /// `dynamic`, `static`, `foreign` or `unknown`.
    pub(crate) kind: &'static str,
    /// The C library of a dynamic program.
    pub(crate) libc: Option<Libc>,
    /// `own` if it keeps an allocator of its own, else the malloc that would serve its heap.
    pub(crate) allocator: &'static str,
    /// Its name in the table of known programs.
    pub(crate) known: Option<&'static str>,
    /// The options that the table has for `--auto`.
    pub(crate) auto: Vec<&'static str>,
    /// Its own option for huge pages, or another way to reach its memory.
    pub(crate) own: Option<&'static str>,
    pub(crate) caveat: Option<&'static str>,
}

/// The whole explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    #[serde(flatten)]
    head: Head,
    program: Option<Program>,
    segments: Vec<Line>,
    required: Vec<Required>,
    notes: Vec<String>,
    /// The program in words, for the text.
    #[serde(skip)]
    description: Option<String>,
    /// The shortfalls, each once, for the text.
    #[serde(skip)]
    shortfalls: Vec<Shortfall>,
}

impl Explained {
    /// Returns the exit status.
    pub fn status(&self) -> u8 {
        self.head.status
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self);
        debug_assert!(json.is_ok(), "its keys are numbers and texts");
        json.unwrap_or_default() + "\n"
    }

    /// Returns it as text.
    pub fn to_text(&self) -> String {
        text::whole(self)
    }
}

/// Explains a plan of these findings.
pub fn explain(run: &Run, findings: &Findings, plan: &Plan) -> Explained {
    let asked = plan.rows.iter().map(|row| Subject::of(row.segment));
    let asked = asked.fold(Subject::NONE, |all, one| all | one);
    let shortfalls = shorts(&plan.notes, asked);
    let target = findings.look.target.as_ref();
    let unknown_program = target.and_then(unknown_program);
    let is_refused = plan.required.iter().any(Required::is_refused);
    let mut head = Head::new("hugectl");
    head.status = match &unknown_program {
        Some(_) => UNKNOWN,
        None if !shortfalls.is_empty() || is_refused => SHORT,
        None => MET,
    };
    head.errors.extend(unknown_program);
    let texts = |level| {
        let notes = plan.notes.iter().filter(move |note| note.level == level);
        let notes = notes.filter(|note| note.shortfall.is_none());
        notes.map(|note| note.text.clone())
    };
    head.warnings.extend(texts(Level::Warning));
    Explained {
        head,
        program: target.map(|target| program(target, findings)),
        description: target.map(heap_engine::describe),
        required: plan.required.clone(),
        notes: texts(Level::Info)
            .chain(loses_names(&plan.rows, findings))
            .chain(threads_may_run(&plan.rows))
            .chain(known_program(run, findings))
            .collect(),
        segments: lines(plan),
        shortfalls,
    }
}

/// Returns the shortfalls of some segments, one for each fact.
fn shorts(notes: &[Note], segments: Subject) -> Vec<Shortfall> {
    let shorts = notes.iter().filter_map(|note| note.shortfall.as_ref());
    let shorts = shorts.filter(|short| short.subject.meets(segments));
    shorts.flat_map(|short| short.each()).cloned().collect()
}

/// Attaches the shortfalls of a segment to its last row.
fn lines(plan: &Plan) -> Vec<Line> {
    let is_last = |at: usize, row: &Row| {
        let rest = plan.rows.iter().skip(at + 1);
        rest.clone().all(|other| other.segment != row.segment)
    };
    let rows = plan.rows.iter().enumerate();
    let lines = rows.map(|(at, row)| Line {
        row: row.clone(),
        shortfalls: match is_last(at, row) {
            true => shorts(&plan.notes, Subject::of(row.segment)),
            false => Vec::new(),
        },
    });
    lines.collect()
}

/// Returns a note if text is copied: crash reports then lack function names. The file's own
/// pages keep them.
fn loses_names(rows: &[Row], findings: &Findings) -> Option<String> {
    let target = findings.look.target.as_ref()?;
    let program = target.program.display();
    let is_copied = rows.iter().any(|row| {
        let is_copy = matches!(row.rung, Some(Rung::Pool | Rung::Thp));
        row.segment == Segment::Text && row.bytes > Some(0) && is_copy
    });
    let cure = match findings.parts.obstacle {
        Some(Obstacle::Alignment(_)) => format!("; to keep them: hugeedit --align {program}"),
        Some(Obstacle::Offsets) => {
            format!("; to keep them, align the program: {}", findings.relink)
        }
        _ if matches!(findings.asked.text, Some(Pages::Size(_))) => {
            "; to keep them: --text without a size".to_owned()
        }
        _ => String::new(),
    };
    is_copied.then(|| {
        format!(
            "text will be a copy, so crash reports that open the files named in /proc/self/maps \
             (glog, abseil, libunwind) lose the names of functions{cure}"
        )
    })
}

/// Returns a note if data moves: a library that runs before ours may start threads.
fn threads_may_run(rows: &[Row]) -> Option<String> {
    let is_moved = rows.iter().any(|row| {
        let is_data = matches!(row.segment, Segment::Data | Segment::Bss);
        is_data && matches!(row.rung, Some(Rung::Pool | Rung::Thp))
    });
    let text = "data and bss are not moved to huge pages if a library starts threads before the \
                program begins; a message at the start then says so";
    is_moved.then(|| text.to_owned())
}

/// Returns notes from the table of known programs, unless a shortfall has them.
fn known_program(run: &Run, findings: &Findings) -> Vec<String> {
    let Some(entry) = findings.look.known else {
        return Vec::new();
    };
    let name = entry.name;
    let asked = findings.asked;
    let is_requested = asked.heap.is_some() || asked.anon.is_some();
    let is_covered = findings.look.has_own_memory && is_requested;
    let own = entry
        .advice
        .iter()
        .filter(|_| !is_covered && entry.memory.is_none());
    let own = own.map(|own| format!("{name}: {own}"));
    // --auto prints these itself.
    let is_without_auto = run.chosen.is_none();
    let caveat = entry.caveat.iter().filter(|_| is_without_auto);
    let caveat = caveat.map(|caveat| format!("{name}: {caveat}"));
    let (auto, why) = (auto(entry).join(" "), entry.why);
    let auto = format!("--auto would choose {auto} for {name}: {why}");
    let auto = is_without_auto.then_some(auto);
    own.chain(caveat).chain(auto).collect()
}

fn auto(known: &KnownProgram) -> Vec<&'static str> {
    known.auto.iter().map(|choice| choice.word()).collect()
}

fn unknown_program(target: &Target) -> Option<String> {
    match &target.image {
        Image::Unknown(why) => Some(format!(
            "what {} would get cannot be told: {why}",
            target.program.display()
        )),
        _ => None,
    }
}

fn program(target: &Target, findings: &Findings) -> Program {
    let look = &findings.look;
    let known = look.known;
    let (kind, libc) = match &target.image {
        Image::Dynamic(libc) => ("dynamic", Some(*libc)),
        Image::Static => ("static", None),
        Image::Foreign(_) => ("foreign", None),
        Image::Unknown(_) => ("unknown", None),
    };
    let through = target.through.iter();
    Program {
        path: target.path.display().to_string(),
        through: through.map(|path| path.display().to_string()).collect(),
        runs: target.program.display().to_string(),
        kind,
        libc,
        allocator: match (findings.decision.engine, &look.own) {
            (Engine::Arena, _) => "arena",
            (_, Some(_)) => "own",
            (Engine::Libc, _) => "libc",
            (Engine::Linked, _) => "linked",
            (Engine::None, _) => "none",
        },
        known: known.map(|entry| entry.name),
        auto: known.map(auto).unwrap_or_default(),
        own: known.and_then(|entry| entry.advice),
        caveat: known.and_then(|entry| entry.caveat),
    }
}
