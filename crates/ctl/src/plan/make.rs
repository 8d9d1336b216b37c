//! From what was found to the plan: a pure function.

mod libc;
mod only_thp;
mod report;
mod ruled_out;
pub(crate) mod segment_notes;
pub(crate) mod whom;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use hugetools_contract::env::{self, Fallback, Pages};
use hugetools_contract::report::{base, is_shell};
use hugetools_elf::Ident;
use hugetools_model::Bytes;

use super::{Bundled, Plan, Program, Value, Variable};
use crate::caller::Caller;
use crate::probe::Findings;
use crate::probe::coverage::page_cache::{Job, State};
use crate::probe::dynamic_loader::ld_preload::{self, OtherMalloc};
use crate::probe::heap_engine::{self, Engine};
use crate::probe::library::{Found, Inside};
use crate::probe::preflight::{self, Needs};
use crate::probe::target::Image;
use crate::request::Run;
use crate::request::thp_policy::ThpPolicy;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// Makes the plan: a pure function of its arguments.
pub fn make(run: &Run, caller: &Caller, findings: &Findings) -> Plan {
    let mut maker = Maker {
        run,
        caller,
        findings,
        variables: Vec::new(),
        notes: Vec::new(),
    };
    let target = findings.look.target.as_ref();
    maker.notes.extend(run.chosen().map(Note::info));
    maker.notes.extend(target.map(heap_engine::describe));
    maker.notes.extend(findings.decision.notes.iter().cloned());
    maker.notes.extend(segment_notes::notes(run, findings));
    maker.verbosity();
    maker.messages();
    maker.library_path();
    maker.asked();
    maker.whom();
    maker.preload();
    maker.classic_flags();
    maker.tunables();
    maker.report();
    maker.shortfalls();
    // What --anon advises has them also where a machine gives them to nobody unasked.
    let policy = findings.policy_short.iter().filter(|_| run.anon.is_none());
    maker.notes.extend(policy.map(Note::warning));
    maker.hush();
    Plan {
        report: maker.watched(),
        thp_policy: run.thp_policy,
        library: maker.bundled(),
        text: maker.text(),
        text_is_static: maker.is_static(),
        variables: maker.variables,
        program: target.map(|target| Program {
            path: target.path.clone(),
            argv: run.command.clone(),
            is_text: target.is_text,
            doubt: match &target.image {
                Image::Unknown(why) => Some(why.clone()),
                Image::Foreign(ident) => Some(format!(
                    "it is for {ident}, this machine is {}",
                    Ident::native()
                )),
                _ => None,
            },
        }),
        engine: findings.decision.engine,
        notes: maker.notes,
    }
}

struct Maker<'a> {
    run: &'a Run,
    caller: &'a Caller,
    findings: &'a Findings,
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
        self.set(env::VERBOSE, level.to_string());
    }

    fn messages(&mut self) {
        if let Some(value) = &self.findings.messages {
            self.set(env::MESSAGES, value);
        }
    }

    /// For programs that are linked with the library; never with an empty
    /// entry, which would mean the current directory.
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
        if segments.set_elfmap() {
            self.set(env::ELFMAP, self.findings.elfmap.to_string());
        }
        self.heap();
        if let Some(pages) = self.run.shm {
            self.set(env::SHM, pages.to_string());
            self.set_process(env::STARTER);
        }
        self.anon();
        self.stack();
        if let Some(fallback) = self.run.fallback {
            if fallback != Fallback::default() || self.caller.var(env::FALLBACK).is_some() {
                self.set(env::FALLBACK, fallback.word());
            }
        }
        self.require();
        for (is_asked, name) in [
            (segments.libraries, env::TEXT_LIBS),
            (segments.perf_map, env::PERF_MAP),
        ] {
            if is_asked {
                self.set(name, "yes");
            }
        }
        self.text_copy();
        self.filter();
        if self.run.kernel_fork {
            self.set(env::FORK, "kernel");
        }
        if self.run.thp_policy == Some(ThpPolicy::Always) {
            self.set(env::THP_POLICY, ThpPolicy::Always.word());
        }
        let is_any = self.findings.asked.are_any()
            || segments.off
            || self.run.report.is_some()
            || self.run.thp_policy.is_some();
        if let (Some(short), true) = (&self.findings.starter, is_any) {
            self.fall_short(short.clone());
        }
        if !is_any && self.run.chosen.is_none() {
            self.warn(
                "nothing was asked for: there is none of --text, --data, --bss, --heap, --shm, \
                 --anon, --stack, --thp-policy and --report",
            );
        }
        self.describe_pages();
    }

    /// Of whom it is required: of all that `--only` names, else of the process that
    /// is started.
    fn require(&mut self) {
        let list = OsString::from(self.run.require.to_string());
        let value = match (self.run.require.is_any(), &self.run.only) {
            (false, _) => return,
            (true, Some(_)) => Value::Text(list),
            (true, None) => {
                self.require_of_shell();
                Value::ProcessAnd(list)
            }
        };
        let name = env::REQUIRE;
        self.variables.push(Variable { name, value });
    }

    /// Says what it is not required of, where a shell starts what is meant.
    fn require_of_shell(&mut self) {
        let target = self.findings.look.target.as_ref();
        let program = target.map(|target| target.program.as_os_str().as_bytes());
        if let Some(shell) = program.filter(|program| is_shell(program)) {
            let name = String::from_utf8_lossy(base(shell)).into_owned();
            self.warn(format!(
                "--require is of {name} and of what that becomes by exec, not of other programs \
                 that it starts: --only=NAME requires it of these"
            ));
        }
    }

    /// Which program may copy text that others cannot share.
    fn text_copy(&mut self) {
        let target = self.findings.look.target.as_ref();
        let target = target.filter(|_| self.findings.served.text.is_some());
        if let Some(target) = target {
            let value = Value::ProcessAnd(target.program.clone().into_os_string());
            let name = env::TEXT_COPY;
            self.variables.push(Variable { name, value });
        }
    }

    /// What was found out about filters of system calls.
    fn filter(&mut self) {
        let filter = &self.findings.kernel.filter;
        // The library knows by it that hugectl has looked, where nothing else says so.
        let is_news =
            filter.is_there || self.is_left_out() || self.caller.var(env::FILTER).is_some();
        if is_news && self.findings.asked.are_any() {
            self.set(env::FILTER, filter.told().to_string());
        }
    }

    /// The variables that the classic tool sets last.
    fn classic_flags(&mut self) {
        if self.run.segments.no_reserve {
            self.set(env::NO_RESERVE, "yes");
        }
        if self.run.segments.share_text {
            self.set(env::SHARE, "1");
        }
    }

    /// What the program's segments take of the pages that are asked for them.
    fn needs(&self) -> Needs {
        let Findings {
            served,
            parts,
            kernel,
            look,
            ..
        } = self.findings;
        let target = look.target.as_ref();
        let needs = target.map(|target| parts.needs(target, *served, kernel));
        Needs {
            libc_heap: self.findings.decision.engine == Engine::Libc,
            ..needs.unwrap_or_default()
        }
    }

    fn describe_pages(&mut self) {
        let served = self.findings.served;
        let next = match served.fallback {
            Fallback::Thp => "then transparent huge pages, then base pages",
            Fallback::Base => "then base pages",
            Fallback::None => "and nothing else",
        };
        let heap = match self.findings.decision.engine {
            Engine::Libc => "heap, by the program's own glibc",
            _ => "heap, by our malloc",
        };
        let (needs, zero) = (self.needs(), Bytes::default());
        let all = [
            ("text", served.text.filter(|_| needs.text > zero)),
            ("data and bss", served.data.filter(|_| needs.data > zero)),
            (heap, served.heap),
            ("shared memory", served.shm),
            ("private mappings", served.anon),
            ("stacks", served.stack),
        ];
        let strict = Subject::strict(self.run.require);
        for (name, pages) in all {
            let next = match self.findings.decision.engine {
                _ if strict.heap && name == heap => "and nothing else",
                _ if strict.shm && name == "shared memory" => "and nothing else",
                _ if strict.anon && name == "private mappings" => "and nothing else",
                _ if strict.stack && name == "stacks" => "and nothing else",
                Engine::Libc if name == heap => "then base pages",
                _ => next,
            };
            let ruled_out = pages == Some(Pages::Thp) && served.fallback == Fallback::Base;
            let text = pages.filter(|_| !ruled_out).map(|pages| match pages {
                Pages::Thp if next == "and nothing else" => {
                    format!("{name}: transparent huge pages, {next}")
                }
                Pages::Thp => format!("{name}: transparent huge pages, then base pages"),
                pages => match self.findings.kernel.size(pages) {
                    Some(size) => format!("{name}: {size} pages from the pool, {next}"),
                    None => format!("{name}: no pool, {next}"),
                },
            });
            text.into_iter().for_each(|text| self.info(text));
        }
        if served.anon.is_some() && served.heap.is_none() {
            self.info("what malloc takes is not among private mappings: --heap is for that");
        }
    }

    fn is_static(&self) -> bool {
        let target = self.findings.look.target.as_ref();
        target.is_some_and(|target| target.image == Image::Static)
    }

    fn preload(&mut self) {
        match &self.findings.library {
            None => {}
            Some(Found::Nowhere(why)) => {
                let short = Shortfall::new(Subject::ALL, why);
                let then = "the program runs without it, on the pages it has";
                self.fall_short(short.then(then));
            }
            Some(Found::At(path) | Found::Inside(Inside { path, .. })) => {
                let list = self.caller.var("LD_PRELOAD").unwrap_or_default();
                let merged = ld_preload::merge(path.as_os_str(), Some(list));
                for entry in ld_preload::ours(list) {
                    let entry = OsString::from_vec(entry);
                    let text = format!("LD_PRELOAD held {} already", Path::new(&entry).display());
                    self.info(text);
                }
                self.info(format!("library: {}", path.display()));
                let is_there = match &self.findings.library {
                    Some(Found::Inside(inside)) => inside.is_there,
                    _ => true,
                };
                if !is_there && !self.run.starts() {
                    self.warn(format!(
                        "{} is not there yet: it is inside hugectl, whose first start puts it there",
                        path.display()
                    ));
                }
                if self.findings.decision.engine == Engine::Arena {
                    for other in ld_preload::other_mallocs(list) {
                        self.warn(replaced(&other));
                    }
                }
                self.set("LD_PRELOAD", merged);
            }
        }
    }

    /// The library that a start puts on disk.
    fn bundled(&self) -> Option<Bundled> {
        let Some(Found::Inside(Inside { name, path, .. })) = &self.findings.library else {
            return None;
        };
        let list = self.caller.var("LD_PRELOAD");
        let merged = ld_preload::merge(path.as_os_str(), list);
        let rest = merged.as_bytes().get(path.as_os_str().len()..)?;
        Some(Bundled {
            name,
            path: path.clone(),
            rest: OsStr::from_bytes(rest).to_owned(),
        })
    }

    /// The files whose text a start puts on huge pages of the page cache.
    fn text(&self) -> Vec<Job> {
        let all = self.findings.parts.prepared.iter();
        let left = all.filter(|prepared| prepared.state == State::Left);
        left.map(|prepared| prepared.job.clone()).collect()
    }

    fn shortfalls(&mut self) {
        let Findings { served, kernel, .. } = self.findings;
        let needs = self.needs();
        let ruled_out = ruled_out::by_fallback(self.findings, needs);
        let wants = ruled_out::without(*served, &ruled_out);
        let mut checked = preflight::check(wants, needs, kernel);
        for short in ruled_out {
            checked.heap_told |= short.subject.heap;
            checked.segments_told |= short.subject.meets(Subject::SEGMENTS);
            checked.anon_told |= short.subject.anon;
            checked.stack_told |= short.subject.stack;
            self.fall_short(short);
        }
        self.notes.extend(checked.notes);
        let has_heap = served.heap.is_some() && self.findings.decision.engine == Engine::Arena;
        let has_segments = served.text.is_some() || served.data.is_some();
        let has_anon = served.anon.is_some();
        let has_stack = served.stack.is_some();
        let is_told = (!has_heap || checked.heap_told) && (!has_segments || checked.segments_told);
        // Of these the library has news only: what hugectl cannot know, and has not said.
        let has_news = has_anon && !checked.anon_told || has_stack && !checked.stack_told;
        let is_told = is_told && (has_heap || has_segments || !has_news);
        match has_heap || has_segments || has_anon || has_stack {
            true if is_told => {
                self.set(env::PID, "0");
                self.listen_for_news(has_news);
            }
            // Whoever it is that gets huge pages says it.
            true if self.is_left_out() => {}
            true => self.set_process(env::PID),
            false => {}
        }
    }

    /// What was said will not be so where the program turns transparent huge pages
    /// off: then it speaks all the same, as where it has news (`has_news`) of something else.
    fn listen_for_news(&mut self, has_news: bool) {
        let Findings { served, kernel, .. } = self.findings;
        let announced = served.fallback == Fallback::Thp && kernel.serves_private();
        // Shared memory has set it already.
        if (announced || has_news) && self.run.shm.is_none() {
            self.set_process(env::STARTER);
        }
    }
}

/// Says that a preloaded malloc is replaced, and how it stays in use.
fn replaced(other: &OtherMalloc) -> String {
    let name = Path::new(&other.entry).display();
    let instead = match other.is_reached_by_anon {
        true => "to keep it, on huge pages: --anon instead of --heap",
        false => "to use both, start hugectl first: hugectl --heap TOOL PROGRAM",
    };
    format!("--heap replaces the malloc of {name} (LD_PRELOAD); {instead}")
}

#[cfg(test)]
mod tests;
