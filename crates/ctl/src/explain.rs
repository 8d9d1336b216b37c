//! `--explain`: what each segment that is asked for would get, and what would
//! fall short. The rows come from the same findings as the plan, the shortfalls
//! from the plan's own notes: nothing is said here that a start would not say.

pub mod required;
pub(crate) mod rows;
mod text;

use std::collections::BTreeMap;

use hugetools_contract::env::Pages;
use hugetools_model::Head;
use serde::Serialize;

use self::required::Required;
use crate::plan::{Plan, RELINK};
use crate::probe::Findings;
use crate::probe::command_line::known_programs::KnownProgram;
use crate::probe::heap_engine::{Engine, describe};
use crate::probe::target::elf_layout::Obstacle;
use crate::probe::target::{Image, Libc, Target};
use crate::request::Run;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// All that is asked for will be had.
const HAD: u8 = 0;

/// Something falls short.
const SHORT: u8 = 3;

/// It cannot be told.
const UNKNOWN: u8 = 125;

/// Where memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// A pool.
    Pool,
    /// Transparent huge pages.
    Thp,
    /// Huge pages of the page cache: the file's own.
    File,
    /// Base pages.
    Base,
    /// Nowhere: requests fail.
    None,
}

/// One rung of what a segment would get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// `text`, `data`, `bss`, `heap`, `shm`, `anon` or `stack`.
    pub segment: &'static str,
    /// The file, of text, data and bss.
    pub object: Option<String>,
    /// The pages that are asked for: `default`, `thp` or a size.
    pub asked: String,
    /// Where it would come from; `None` where that cannot be told.
    pub rung: Option<Rung>,
    /// How, in the words of a report.
    pub mechanism: Option<&'static str>,
    /// How much; `None` of what grows as the program runs.
    pub bytes: Option<u64>,
    /// How many huge pages by their size; of what grows, how many there are.
    pub pages: BTreeMap<u64, u64>,
    /// Whether each mapping and segment of it gets these pages whole, or none of them, as
    /// shared memory does of a pool: the kernel refuses what it cannot promise whole.
    pub whole: bool,
    /// Whether `bytes` is the most that can be.
    #[serde(skip)]
    pub at_most: bool,
    /// What falls short, with the last row of a segment.
    pub shortfalls: Vec<Short>,
}

/// What falls short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Short {
    /// What is so.
    pub fact: String,
    /// What follows from it.
    pub then: Option<String>,
    /// The file that says it.
    pub file: Option<String>,
    /// What it says.
    pub value: Option<String>,
    /// What mends it; nothing does, where there is none.
    pub command: Option<String>,
}

/// What is known of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The file that is started.
    pub path: String,
    /// Scripts and interpreters on the way to the program that runs.
    pub through: Vec<String>,
    /// The program that runs.
    pub runs: String,
    /// `dynamic`, `static`, `foreign` or `unknown`.
    pub kind: &'static str,
    /// `glibc`, `musl` or `other`, of a dynamic one.
    pub libc: Option<Libc>,
    /// What of ours, or of its own, would serve its heap.
    pub allocator: &'static str,
    /// By which name it is known, if it is.
    pub known: Option<String>,
    /// The options that `--auto` takes for it.
    pub auto: Vec<String>,
    /// What of its own reaches what hugectl does not, or does better.
    pub own: Option<String>,
    /// What to look out for.
    pub beware: Option<String>,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    #[serde(flatten)]
    head: Head,
    program: Option<Program>,
    segments: Vec<Row>,
    /// Whether what is required would be met.
    required: Vec<Required>,
    /// What else was found.
    notes: Vec<String>,
    /// What falls short, each once, for the text.
    #[serde(skip)]
    shortfalls: Vec<Short>,
}

impl Explained {
    /// The exit status.
    pub fn status(&self) -> u8 {
        self.head.status
    }

    /// The document.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self);
        debug_assert!(json.is_ok(), "its keys are numbers and texts");
        json.unwrap_or_default() + "\n"
    }

    /// The same as text.
    pub fn to_text(&self) -> String {
        text::whole(self)
    }
}

/// Answers. `plan` must be made of the same findings.
pub fn explain(run: &Run, findings: &Findings, plan: &Plan) -> Explained {
    let mut rows = rows::rows(run, findings, plan);
    let asked = rows.iter().map(|row| subject_of(row.segment));
    let asked = asked.fold(Subject::NONE, |all, one| all | one);
    let concerns = |note: &&Note| {
        let short = note.shortfall.as_ref();
        short.is_some_and(|short| short.subject.meets(asked))
    };
    let shortfalls: Vec<Short> = plan
        .notes
        .iter()
        .filter(concerns)
        .flat_map(shorts)
        .collect();
    let required = required::judge(run, findings, &rows);
    attach(&mut rows, &plan.notes);
    let target = findings.look.target.as_ref();
    let doubt = target.and_then(doubt);
    let mut head = Head::new("hugectl");
    head.status = match (&doubt, shortfalls.is_empty()) {
        (Some(_), _) => UNKNOWN,
        (None, false) => SHORT,
        (None, true) if required.iter().any(Required::is_refused) => SHORT,
        (None, true) => HAD,
    };
    head.errors.extend(doubt);
    let told = |level| {
        let notes = plan.notes.iter().filter(move |note| note.level == level);
        let notes = notes.filter(|note| note.shortfall.is_none());
        notes.map(|note| note.text.clone())
    };
    head.warnings.extend(told(Level::Warning));
    Explained {
        head,
        program: target.map(|target| program(target, findings)),
        required,
        notes: told(Level::Info)
            .filter(|note| target.is_none_or(|target| *note != describe(target).text))
            .chain(loses_names(&rows, findings))
            .chain(shows_later(&rows))
            .chain(of_known(run, findings))
            .collect(),
        segments: rows,
        shortfalls,
    }
}

/// What a copy of the program's text takes from crash reports, and what keeps it: the file's
/// own pages have the file's name.
fn loses_names(rows: &[Row], findings: &Findings) -> Option<String> {
    let target = findings.look.target.as_ref()?;
    let program = target.program.display().to_string();
    let has = |rungs: &[Rung]| {
        rows.iter().any(|row| {
            let is_it = row.segment == "text" && row.object.as_ref() == Some(&program);
            is_it && row.bytes > Some(0) && row.rung.is_some_and(|rung| rungs.contains(&rung))
        })
    };
    let what = match (has(&[Rung::Pool, Rung::Thp]), has(&[Rung::File])) {
        (false, _) => return None,
        (true, false) => "text",
        (true, true) => "a part of text",
    };
    let fact = format!(
        "{what} will be a copy, so crash reports that open the files named in /proc/self/maps \
         (glog, abseil, libunwind) lose the names of functions"
    );
    let cure = match findings.parts.obstacle {
        Some(Obstacle::Alignment(_)) => format!("; to keep them: hugeedit --align {program}"),
        Some(Obstacle::Offsets) => format!("; to keep them, align the program: {RELINK}"),
        _ => match findings.asked.text {
            Some(Pages::Size(_)) => "; to keep them: --text without a size".to_owned(),
            _ => String::new(),
        },
    };
    Some(format!("{fact}{cure}"))
}

/// What nobody can tell before the program is there: its libraries run code of theirs
/// before ours does.
fn shows_later(rows: &[Row]) -> Option<String> {
    let is_moved = |row: &&Row| row.segment == "data" || row.segment == "bss";
    let is_huge = |row: &Row| matches!(row.rung, Some(Rung::Pool | Rung::Thp));
    let text = "data and bss: where a library starts threads before the program begins, they \
                stay where they are; that shows at the start";
    let any = rows.iter().filter(is_moved).any(is_huge);
    any.then(|| text.to_owned())
}

/// What the table of known programs says, where no shortfall says it.
fn of_known(run: &Run, findings: &Findings) -> Vec<String> {
    let Some(entry) = findings.look.known else {
        return Vec::new();
    };
    let name = entry.name;
    let asked = findings.asked;
    let is_asked = asked.heap.is_some() || asked.anon.is_some();
    let is_told = findings.look.beyond.is_some() && is_asked;
    let own = entry
        .own_switch
        .iter()
        .filter(|_| !is_told && entry.memory.is_none());
    let own = own.map(|own| format!("{name}: {own}"));
    // What is chosen is said with that.
    let is_open = run.chosen.is_none();
    let beware = entry.beware.iter().filter(|_| is_open);
    let beware = beware.map(|beware| format!("{name}: {beware}"));
    let (auto, why) = (auto(entry).join(" "), entry.why);
    let auto = format!("--auto would take {auto} for {name}: {why}");
    let auto = is_open.then_some(auto);
    own.chain(beware).chain(auto).collect()
}

/// Returns the options that `--auto` takes.
fn auto(known: &KnownProgram) -> Vec<String> {
    let choices = known.auto.iter();
    choices.map(|choice| choice.word().to_owned()).collect()
}

/// Why nothing can be told of a program.
fn doubt(target: &Target) -> Option<String> {
    match &target.image {
        Image::Unknown(why) => Some(format!(
            "what {} would get cannot be told: {why}",
            target.program.display()
        )),
        _ => None,
    }
}

/// Puts what falls short of a segment to its last row.
fn attach(rows: &mut [Row], notes: &[Note]) {
    for segment in ["text", "data", "bss", "heap", "shm", "anon", "stack"] {
        let concerns = |note: &&Note| {
            let short = note.shortfall.as_ref();
            short.is_some_and(|short| short.subject.meets(subject_of(segment)))
        };
        if let Some(row) = rows.iter_mut().rfind(|row| row.segment == segment) {
            row.shortfalls = notes.iter().filter(concerns).flat_map(shorts).collect();
        }
    }
}

fn subject_of(segment: &str) -> Subject {
    match segment {
        "text" => Subject::TEXT,
        "data" | "bss" => Subject::DATA,
        "heap" => Subject::HEAP,
        "anon" => Subject::ANON,
        "stack" => Subject::STACK,
        _ => Subject::SHM,
    }
}

fn shorts(note: &Note) -> impl Iterator<Item = Short> {
    let each = note.shortfall.iter().flat_map(|short| short.each());
    each.map(short)
}

fn short(short: &Shortfall) -> Short {
    let (file, value) = match &short.cause {
        Some(cause) => (Some(cause.file.clone()), Some(cause.value.clone())),
        None => (None, None),
    };
    Short {
        fact: short.fact.clone(),
        then: short.then.clone(),
        file,
        value,
        command: short.command().map(str::to_owned),
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
            (_, Some(_)) => "own",
            (Engine::Arena, _) => "arena",
            (Engine::Libc, _) => "libc",
            (Engine::Linked, _) => "linked",
            (Engine::None, _) => "none",
        },
        known: known.map(|entry| entry.name.to_string()),
        auto: known.map(auto).unwrap_or_default(),
        own: known.and_then(|entry| entry.own_switch.map(str::to_owned)),
        beware: known.and_then(|entry| entry.beware.map(str::to_owned)),
    }
}
