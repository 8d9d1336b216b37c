//! Makes the plan from the findings: a pure function.

mod libc;
mod preload;
mod report;
mod scope;
mod thp_only;
mod warner;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hugetools_contract::env::{self, Fallback};
use hugetools_contract::ladder::{Rung, Rungs, Step};
use hugetools_contract::report::{base, is_shell};
use hugetools_elf::Ident;
use hugetools_model::Bytes;

use super::prediction::Prediction;
use super::reasons::Sentences;
use super::required::{self, Required};
use super::{Plan, Program, Value, Variable, file_notes};
use crate::caller::Caller;
use crate::probe::Findings;
use crate::probe::coverage::page_cache::{State, TextFile};
use crate::probe::heap_engine::{self, Engine};
use crate::probe::target::{Image, Target};
use crate::request::Run;
use crate::request::thp_policy::ThpPolicy;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// Makes the plan.
pub fn make(run: &Run, caller: &Caller, findings: &Findings) -> Plan {
    let mut maker = Maker {
        run,
        caller,
        findings,
        is_left_out: scope::is_left_out(run, findings),
        variables: Vec::new(),
        notes: Vec::new(),
    };
    let target = findings.look.target.as_ref();
    maker.notes.extend(run.chosen().map(Note::info));
    // An explanation begins with the program.
    let described = target.filter(|_| !run.explain).map(heap_engine::describe);
    maker.notes.extend(described.map(Note::info));
    maker.notes.extend(findings.decision.notes.iter().cloned());
    maker
        .notes
        .extend(file_notes::notes(run, findings, maker.is_left_out));
    maker.verbosity();
    maker.messages();
    maker.library_path();
    maker.asked();
    maker.scope();
    maker.preload();
    maker.classic_flags();
    maker.tunables();
    maker.report();
    let prediction = maker.predict();
    // --anon calls madvise, so the THP mode `always` isn't needed.
    let policy = findings.policy_short.iter().filter(|_| run.anon.is_none());
    maker.notes.extend(policy.map(Note::warning));
    let required = maker.required(&prediction);
    Plan {
        refusals: required::refusals(run, findings.decision.engine, &required, &maker.notes),
        required,
        rows: prediction.rows,
        report: maker.watched(),
        asks: maker.asks(),
        thp_policy: run.thp_policy,
        library: maker.bundled(),
        text: maker.text(),
        text_needs_page_cache: findings.look.is_static(),
        variables: maker.variables,
        program: target.map(|target| program(run, target)),
        engine: findings.decision.engine,
        notes: maker.notes,
    }
}

fn program(run: &Run, target: &Target) -> Program {
    Program {
        path: target.path.clone(),
        argv: run.command.clone(),
        is_text: target.is_text,
        exec_hint: match &target.image {
            Image::Unknown(why) => Some(why.clone()),
            Image::Foreign(ident) => {
                let native = Ident::native();
                Some(format!("it is for {ident}, this machine is {native}"))
            }
            _ => None,
        },
    }
}

struct Maker<'a> {
    run: &'a Run,
    caller: &'a Caller,
    findings: &'a Findings,
    /// Whether `--only`, or an inherited list, leaves the started program out.
    is_left_out: bool,
    variables: Vec<Variable>,
    notes: Vec<Note>,
}

impl Maker<'_> {
    fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        let value = Value::Text(value.into());
        self.variables.push(Variable { name, value });
    }

    fn set_process(&mut self, name: &'static str) {
        let value = Value::Process;
        self.variables.push(Variable { name, value });
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note::warning(text));
    }

    fn fall_short(&mut self, short: Shortfall) {
        self.notes.push(Note::short(Level::Warning, short));
    }

    fn info(&mut self, text: impl Into<String>) {
        self.notes.push(Note::info(text));
    }

    fn verbosity(&mut self) {
        let level = self.findings.verbosity;
        if level == 99 {
            self.set(env::DEBUG, "yes");
        }
        let names = [env::VERBOSE, env::DEBUG];
        let is_inherited = |name: &&str| self.caller.var(name).is_some();
        if level != env::DEFAULT_VERBOSITY || names.iter().any(is_inherited) {
            self.set(env::VERBOSE, level.to_string());
        }
    }

    fn messages(&mut self) {
        if let Some(value) = &self.findings.messages {
            self.set(env::MESSAGES, value);
        }
    }

    /// Sets the path for programs that are linked with the library. Drops empty entries, which mean
    /// the current directory.
    fn library_path(&mut self) {
        let Some(dir) = &self.findings.library_dir else {
            return;
        };
        let mut value = dir.clone().into_os_string();
        let old = self.caller.var("LD_LIBRARY_PATH").unwrap_or_default();
        for entry in old.as_bytes().split(|byte| *byte == b':') {
            if !entry.is_empty() && entry != dir.as_os_str().as_bytes() {
                value.push(":");
                value.push(OsStr::from_bytes(entry));
            }
        }
        self.set("LD_LIBRARY_PATH", value);
    }

    fn asked(&mut self) {
        let segments = &self.run.segments;
        if segments.needs_elfmap() {
            self.set(env::ELFMAP, self.findings.elfmap.to_string());
        }
        self.heap();
        if let Some(pages) = self.run.shm {
            self.set(env::SHM, pages.to_string());
            self.set_process(env::STARTER);
        }
        self.thp_only();
        if let Some(fallback) = self.run.fallback {
            if fallback != Fallback::default() || self.caller.var(env::FALLBACK).is_some() {
                self.set(env::FALLBACK, fallback.word());
            }
        }
        self.require();
        for (is_requested, name) in [
            (segments.libraries, env::TEXT_LIBS),
            (segments.perf_map, env::PERF_MAP),
        ] {
            if is_requested {
                self.set(name, "yes");
            }
        }
        self.text_copy();
        self.filter();
        self.next_touch();
        if self.run.kernel_fork {
            self.set(env::FORK, "kernel");
        }
        if self.run.thp_policy == Some(ThpPolicy::Always) {
            self.set(env::THP_POLICY, ThpPolicy::Always.word());
        }
        let is_any = self.asks();
        if let (Some(short), true) = (&self.findings.starter, is_any) {
            self.fall_short(short.clone());
        }
        if !is_any && self.run.chosen.is_none() {
            self.warn(
                "nothing was asked for: there is none of --text, --data, --bss, --heap, --shm, \
                 --anon, --stack, --thp-policy, --next-touch and --report",
            );
        }
    }

    fn asks(&self) -> bool {
        self.findings.asked.are_any()
            || self.run.segments.off
            || self.run.report.is_some()
            || self.run.next_touch.is_some()
            || self.run.thp_policy.is_some()
    }

    fn next_touch(&mut self) {
        match self.run.next_touch {
            Some(_) if self.findings.is_one_node => {
                self.warn("--next-touch does nothing: the machine has one memory node")
            }
            Some(least) => self.set(env::NEXT_TOUCH, least.get().to_string()),
            None => {}
        }
    }

    /// Requires memory of all programs that `--only` names, otherwise of the started process.
    fn require(&mut self) {
        let list = OsString::from(self.run.require.to_string());
        let value = match (self.run.require.is_any(), &self.run.only) {
            (false, _) => return,
            (true, Some(_)) => Value::Text(list),
            (true, None) => {
                self.require_of_starter();
                Value::ProcessAnd(list)
            }
        };
        let name = env::REQUIRE;
        self.variables.push(Variable { name, value });
    }

    /// Warns that the requirement doesn't cover programs that a shell or a starter forks.
    fn require_of_starter(&mut self) {
        let target = self.findings.look.target.as_ref();
        let program = target.map(|target| target.program.as_os_str().as_bytes());
        let shell = program.filter(|program| is_shell(program));
        let shell = shell.map(|shell| String::from_utf8_lossy(base(shell)).into_owned());
        if let Some(name) = self.starter().or(shell) {
            self.warn(format!(
                "--require covers {name} and the program that it becomes by exec, not other \
                 programs that it starts; to cover those: --only=NAME"
            ));
        }
    }

    /// Names the only program that may make an unshared copy of its text.
    fn text_copy(&mut self) {
        let target = self.findings.look.target.as_ref();
        let target = target.filter(|_| self.findings.served.text.is_some());
        if let Some(target) = target {
            let value = Value::ProcessAnd(target.program.clone().into_os_string());
            let name = env::TEXT_COPY;
            self.variables.push(Variable { name, value });
        }
    }

    /// Passes on the findings about seccomp filters.
    fn filter(&mut self) {
        let filter = &self.findings.kernel.filter;
        // The library takes HUGETLB_PID as a sign that hugectl has looked, too. A left-out program may
        // lack it.
        let must_tell = filter.is_set || self.is_left_out || self.caller.var(env::FILTER).is_some();
        if must_tell && self.findings.asked.are_any() {
            self.set(env::FILTER, filter.env_value().to_string());
        }
    }

    /// Sets the variables that the classic tool sets last.
    fn classic_flags(&mut self) {
        if self.run.segments.no_reserve {
            self.set(env::NO_RESERVE, "yes");
        }
        if self.run.segments.share_text {
            self.set(env::SHARE, "1");
        }
    }

    /// Returns the files whose text a start puts on huge pages of the page cache.
    fn text(&self) -> Vec<TextFile> {
        let all = self.findings.parts.text_files.iter();
        let left = all.filter(|cached| !self.is_left_out && cached.state == State::Untried);
        left.map(|cached| cached.text.clone()).collect()
    }

    /// Predicts the pages of each segment, and notes shortfalls.
    fn predict(&mut self) -> Prediction {
        let nothing = |note: &Note| {
            let short = note.shortfall.as_ref();
            short.is_some_and(|short| short.subject == Subject::ALL)
        };
        let is_reached = !self.is_left_out && !self.notes.iter().any(nothing);
        let prediction = Prediction::new(self.findings, is_reached);
        let orders = prediction.rungs.iter();
        let orders = orders.map(|(subject, rungs)| self.order(*subject, rungs));
        self.notes
            .extend(orders.map(Note::info).collect::<Vec<_>>());
        let served = self.findings.served;
        if served.anon.is_some() && served.heap.is_none() {
            self.info("--anon does not cover the C library's malloc; --heap does");
        }
        let sentences = Sentences {
            kernel: &self.findings.kernel,
            served,
            missing: &prediction.missing,
            limit: self.limit_name(),
        };
        self.notes.extend(sentences.notes(&prediction));
        self.choose_warner(prediction.warned());
        prediction
    }

    fn order(&self, subject: Subject, rungs: &Rungs) -> String {
        let name = match self.findings.decision.engine {
            _ if subject != Subject::HEAP => subject.names(),
            Engine::Libc => "heap, by the program's own glibc".to_owned(),
            _ => "heap, by our malloc".to_owned(),
        };
        let rung = |step: &Step| match step.rung {
            Rung::Pool if step.size == 0 => "no pool".to_owned(),
            Rung::Pool => format!("{} pages from the pool", Bytes::new(step.size)),
            Rung::Thp => "transparent huge pages".to_owned(),
            Rung::Base => "base pages".to_owned(),
            Rung::Fail => "nothing else".to_owned(),
        };
        let rungs: Vec<String> = rungs.steps().iter().map(rung).collect();
        format!("{name}: {}", rungs.join(", then "))
    }

    fn required(&self, prediction: &Prediction) -> Vec<Required> {
        let (run, findings) = (self.run, self.findings);
        let is_for_others = self.is_left_out && !scope::list_affects_only_program(run, findings);
        let program_list = is_for_others.then(|| self.list_name());
        required::judge(run, findings, &prediction.rows, program_list)
    }
}
