//! How much one process may take, and which processes take anything.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hugetools_contract::env::{self, Limit, Pages};
use hugetools_contract::report::is_shell;

use super::Maker;
use crate::probe::Findings;
use crate::probe::heap_engine::Engine;
use crate::probe::kernel::Source;
use crate::probe::target::Target;
use crate::request::Run;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    /// The variables for it.
    pub(super) fn whom(&mut self) {
        if let Some(limit) = self.run.limit {
            self.set(env::LIMIT, limit.to_string());
        }
        if let Some(limit) = self.findings.limit {
            self.describe_limit(limit);
        }
        match (&self.run.only, &self.findings.only) {
            (Some(names), Some(list)) => {
                self.describe_replaced(names);
                self.set(env::RESTRICT_EXE, list.clone());
                self.describe_only();
            }
            (None, Some(list)) => self.describe_inherited(list),
            _ => {}
        }
        // Where it is in force already it stays so, for what this program
        // starts.
        let inherited = self.caller.var(env::NO_INHERIT);
        let is_in_force = inherited.is_some_and(|pid| !pid.is_empty() && pid != "0");
        if self.run.no_inherit || is_in_force {
            self.set_process(env::NO_INHERIT);
            if self.is_left_out() {
                let fact = "PROGRAM alone may (--no-inherit), and --only does not name it";
                let short = Shortfall::new(Subject::ALL, fact);
                self.fall_short(short.outcome("nothing gets huge pages"));
            }
        }
        self.beyond_reach();
    }

    /// A list that is there already and has none of the names of the option.
    fn describe_replaced(&mut self, names: &OsStr) {
        let Some(inherited) = self.caller.var(env::RESTRICT_EXE) else {
            return;
        };
        let mut all = names.as_bytes().split(|byte| *byte == b':');
        if !all.any(|name| env::is_among(name, inherited.as_bytes())) {
            let inherited = Path::new(inherited).display();
            self.warn(format!(
                "--only takes the place of {}={inherited}, which has none of its names",
                env::RESTRICT_EXE
            ));
        }
    }

    /// A list that nobody has given here, where it leaves the program out.
    fn describe_inherited(&mut self, list: &OsStr) {
        let name = self.name_of_process().unwrap_or_default();
        let name = Path::new(name).display().to_string();
        if is_shut_out(self.run, self.findings) {
            let (variable, list) = (env::RESTRICT_EXE, Path::new(list).display());
            let fact = format!("{variable}={list} does not name {name}");
            let short = Shortfall::new(Subject::ALL, fact);
            let short = short.outcome("it gets no huge pages");
            // What it starts may be named: as with --only, that is no warning.
            self.notes.push(Note::short(Level::Info, short));
        } else if self.is_left_out() {
            self.info(format!(
                "{name} itself gets no huge pages: {} does not name it",
                env::RESTRICT_EXE
            ));
        }
    }

    /// Names that no program has here, and a program that is not named itself.
    fn describe_only(&mut self) {
        let unknown = &self.findings.unknown_names;
        if !unknown.is_empty() {
            self.warn(format!(
                "--only: no program named {} is in PATH, beside PROGRAM or on the command line: it \
                 names nothing unless one comes",
                unknown.join(" or ")
            ));
        }
        let name = self
            .name_of_process()
            .map(|name| Path::new(name).display().to_string());
        if let (Some(script), Some(name)) = (self.named_script(), &name) {
            self.warn(format!(
                "--only={script}: a script goes by the name of its interpreter, which is {name}"
            ));
        }
        if let (Some(name), true) = (name, self.is_left_out()) {
            self.info(format!(
                "{name} itself gets no huge pages: --only does not name it"
            ));
        }
    }

    /// The script that is started, where it is named and its interpreter is not.
    fn named_script(&self) -> Option<String> {
        let target = self.findings.look.target.as_ref()?;
        let name = target.path.file_name()?;
        let is_named = env::is_among(name.as_bytes(), self.run.only.as_ref()?.as_bytes());
        (target.path != target.program && is_named && self.is_left_out())
            .then(|| Path::new(name).display().to_string())
    }

    /// What nobody has asked for here is of others where a list leaves the program out: who
    /// asked for it has heard of it.
    pub(super) fn hush(&mut self) {
        if self.run.only.is_some() || !self.is_left_out() {
            return;
        }
        let run = self.run;
        let segments = &run.segments;
        let asked = Subject {
            heap: run.heap.is_some(),
            shm: run.shm.is_some(),
            anon: run.anon.is_some(),
            stack: run.stack.is_some(),
            text: segments.text.is_some() || segments.libraries,
            data: segments.writable().is_some(),
            past_malloc: false,
        };
        let is_of_others = |note: &Note| {
            let short = note.shortfall.as_ref();
            short.is_some_and(|short| !short.subject.meets(asked))
        };
        let warnings = self.notes.iter_mut();
        warnings
            .filter(|note| note.level == Level::Warning && is_of_others(note))
            .for_each(|note| note.level = Level::Info);
    }

    /// Whether the program that is started is left out itself.
    pub(super) fn is_left_out(&self) -> bool {
        is_left_out(self.run, self.findings)
    }

    /// Which list leaves it out.
    pub(super) fn list(&self) -> &'static str {
        match self.run.only {
            Some(_) => "--only",
            None => env::RESTRICT_EXE,
        }
    }

    /// The name by which the program's process goes: that of the interpreter,
    /// for a script.
    fn name_of_process(&self) -> Option<&OsStr> {
        name_of_process(self.run, self.findings.look.target.as_ref()?)
    }

    /// What the limit comes to, for each size that it is about.
    fn describe_limit(&mut self, limit: Limit) {
        let asked = self.findings.asked;
        let given = match self.run.limit {
            Some(_) => format!("--limit={limit}"),
            None => format!("{}={limit}", env::LIMIT),
        };
        let private = [asked.heap, asked.text, asked.data];
        let mut sizes: Vec<&Source> = Vec::new();
        for pages in private.into_iter().flatten() {
            let source = self.findings.kernel.source(pages);
            sizes.extend(source.filter(|new| !sizes.contains(new)));
        }
        if private.iter().flatten().count() == 0 && self.run.limit.is_some() {
            self.warn("--limit does nothing: it is about heap, text, data and bss");
        }
        for source in sizes {
            let (size, pages) = (source.pool.size, pages_within(limit, source));
            match pages {
                0 => {
                    let fact = format!("{given} is less than a page of {size}");
                    let short = Shortfall::new(Subject::SEGMENTS | Subject::HEAP, fact);
                    self.fall_short(short.then("no page of that pool is taken"));
                }
                _ => self.info(format!(
                    "each process takes at most {pages} pages of {size} ({given})"
                )),
            }
        }
    }

    /// A static program that is not named must not be told by its tunables.
    pub(super) fn keeps_tunables_away(&self) -> bool {
        self.is_static() && self.is_left_out()
    }

    /// What none of this holds for: a heap that stays with libc.
    fn beyond_reach(&mut self) {
        let is_pool = matches!(self.findings.served.heap, Some(Pages::Size(_)));
        if self.findings.decision.engine != Engine::Libc || self.keeps_tunables_away() {
            return;
        }
        if self.findings.limit.is_some() && is_pool {
            let given = match self.run.limit {
                Some(_) => "--limit",
                None => env::LIMIT,
            };
            self.warn(format!(
                "{given} does not hold for the heap: glibc takes pages by itself"
            ));
        }
        if self.run.only.is_some() || self.run.no_inherit {
            let text = "--only and --no-inherit do not hold for the heap: GLIBC_TUNABLES reaches \
                        all that the program starts";
            match is_pool || self.is_left_out() {
                true => self.warn(text),
                false => self.info(text),
            }
        }
    }
}

/// Whether the program that is started gets nothing itself: `--only`, or a list that is
/// there already, does not name it.
pub(crate) fn is_left_out(run: &Run, findings: &Findings) -> bool {
    let target = findings.look.target.as_ref();
    let name = target.and_then(|target| name_of_process(run, target));
    let (Some(names), Some(name)) = (&findings.only, name) else {
        return false;
    };
    !env::is_among(name.as_bytes(), names.as_bytes())
}

/// Whether nothing gets what is asked for here, since a list that nobody has given here
/// leaves the program out. A shell or a wrapper leads to another program, which may be named.
pub(crate) fn is_shut_out(run: &Run, findings: &Findings) -> bool {
    let target = findings.look.target.as_ref();
    let is_last = target.is_some_and(|target| !is_shell(target.program.as_os_str().as_bytes()));
    run.only.is_none() && findings.look.behind.is_none() && is_last && is_left_out(run, findings)
}

fn name_of_process<'a>(run: &'a Run, target: &'a Target) -> Option<&'a OsStr> {
    match target.program == target.path {
        true => Path::new(run.command.first()?).file_name(),
        false => target.program.file_name(),
    }
}

/// How many pages of a pool one process may take.
pub(crate) fn pages_within(limit: Limit, source: &Source) -> u64 {
    let pool = &source.pool;
    match limit {
        Limit::Bytes(bytes) => bytes / pool.size.get(),
        Limit::Part(parts) => {
            let more = pool.overcommit.map_or(0, |pages| pages.get());
            let most = pool.minimum().get().saturating_add(more);
            most.checked_div(parts).unwrap_or(0)
        }
    }
}
