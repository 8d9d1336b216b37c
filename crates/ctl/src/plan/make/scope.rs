//! The scope of huge pages: which programs get them (`--only`, `--no-inherit`), and how
//! many each may take (`--limit`).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use hugetools_contract::env::{self, Pages};
use hugetools_contract::report::is_shell;

use super::Maker;
use crate::probe::Findings;
use crate::probe::heap_engine::Engine;
use crate::probe::target::Target;
use crate::request::Run;
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    /// Sets the variables. Adds a note if they exclude the program.
    pub(super) fn scope(&mut self) {
        if let Some(limit) = self.run.limit {
            self.set(env::LIMIT, limit.to_string());
        }
        let asked = self.findings.asked;
        let is_limited = asked.heap.is_some() || asked.text.is_some() || asked.data.is_some();
        if self.run.limit.is_some() && !is_limited {
            self.warn("--limit does nothing: it applies only to heap, text, data and bss");
        }
        match (&self.run.only, &self.findings.only) {
            (Some(_), Some(list)) => {
                self.set(env::RESTRICT_EXE, list.clone());
                self.describe_only();
            }
            (None, Some(list)) => self.describe_inherited(list),
            _ => {}
        }
        // An inherited --no-inherit stays: programs that this one starts get no huge pages.
        let inherited = self.caller.var(env::NO_INHERIT);
        let is_inherited = inherited.is_some_and(|pid| !pid.is_empty() && pid != "0");
        if self.run.no_inherit || is_inherited {
            self.set_process(env::NO_INHERIT);
            if self.is_left_out {
                let list = self.list_name();
                let fact = format!(
                    "--no-inherit allows them only for PROGRAM, but {list} does not name it"
                );
                let short = Shortfall::new(Subject::ALL, fact);
                self.fall_short(short.consequence_first("nothing gets huge pages"));
            }
        }
        self.describe_libc();
    }

    /// Notes that an inherited list leaves the program out. No warning: the list may name programs
    /// that this one starts.
    fn describe_inherited(&mut self, list: &OsStr) {
        let name = self.process_name();
        let (variable, list) = (env::RESTRICT_EXE, Path::new(list).display());
        if list_affects_only_program(self.run, self.findings) && self.is_left_out {
            let fact = format!("{variable}={list} does not name {name}");
            let short =
                Shortfall::new(Subject::ALL, fact).consequence_first("it gets no huge pages");
            self.notes.push(Note::short(Level::Info, short));
        } else if self.is_left_out {
            self.info(format!(
                "{name} itself gets no huge pages: {variable} does not name it"
            ));
        }
    }

    /// Notes that `--only` leaves the program out, as a warning unless it starts others. Warns if the
    /// option names a script.
    fn describe_only(&mut self) {
        if self.is_left_out {
            let name = self.process_name();
            if let Some(script) = self.named_script() {
                self.warn(format!(
                    "--only={script}: a script runs as its interpreter: write --only={name}"
                ));
            }
            let text = format!("{name} itself gets no huge pages: --only does not name it");
            match starts_no_other(self.findings) {
                true => self.warn(text),
                false => self.info(text),
            }
        }
    }

    /// Returns the script that is started if `--only` names it, not its interpreter.
    fn named_script(&self) -> Option<String> {
        let target = self.findings.look.target.as_ref()?;
        let name = target.path.file_name()?;
        let is_named = env::is_among(name.as_bytes(), self.run.only.as_ref()?.as_bytes());
        (target.path != target.program && is_named).then(|| Path::new(name).display().to_string())
    }

    fn process_name(&self) -> String {
        let target = self.findings.look.target.as_ref();
        let name = target.and_then(|target| process_name(self.run, target));
        Path::new(name.unwrap_or_default()).display().to_string()
    }

    /// Returns the option or variable that names the programs with huge pages.
    pub(super) fn list_name(&self) -> &'static str {
        match self.run.only {
            Some(_) => "--only",
            None => env::RESTRICT_EXE,
        }
    }

    /// Returns the limit as it was given.
    pub(super) fn limit_name(&self) -> String {
        let limit = self.findings.asked.limit;
        let limit = limit.map_or_else(String::new, |limit| limit.to_string());
        match self.run.limit {
            Some(_) => format!("--limit={limit}"),
            None => format!("{}={limit}", env::LIMIT),
        }
    }

    /// Whether glibc's tunables are not set: the program is static and left out.
    pub(super) fn omits_tunables(&self) -> bool {
        self.findings.look.is_static() && self.is_left_out
    }

    /// Warns about options that don't affect a heap that stays with glibc.
    fn describe_libc(&mut self) {
        if self.findings.decision.engine != Engine::Libc || self.omits_tunables() {
            return;
        }
        let is_pool = matches!(self.findings.served.heap, Some(Pages::Size(_)));
        let is_scoped = self.run.only.is_some() || self.run.no_inherit;
        let is_limited = self.run.limit.is_some() && is_pool;
        if is_limited || is_scoped && (is_pool || self.is_left_out) {
            self.warn(
                "--limit, --only and --no-inherit do not apply to the heap: glibc takes pages by \
                 itself, and children inherit GLIBC_TUNABLES",
            );
        }
    }
}

/// Whether `--only` or an inherited list doesn't name the program that is started.
pub(super) fn is_left_out(run: &Run, findings: &Findings) -> bool {
    let target = findings.look.target.as_ref();
    let name = target.and_then(|target| process_name(run, target));
    let (Some(names), Some(name)) = (&findings.only, name) else {
        return false;
    };
    !env::is_among(name.as_bytes(), names.as_bytes())
}

/// Whether an inherited list affects only this program, which starts no other.
pub(super) fn list_affects_only_program(run: &Run, findings: &Findings) -> bool {
    run.only.is_none() && starts_no_other(findings)
}

/// Whether the program is neither a shell nor a wrapper. These start programs that a list may name.
fn starts_no_other(findings: &Findings) -> bool {
    let target = findings.look.target.as_ref();
    let is_program = |target: &Target| !is_shell(target.program.as_os_str().as_bytes());
    findings.look.wrapped.is_none() && target.is_some_and(is_program)
}

/// Returns the name of the program's process: for a script, that of the interpreter.
fn process_name<'a>(run: &'a Run, target: &'a Target) -> Option<&'a OsStr> {
    match target.program == target.path {
        true => Path::new(run.command.first()?).file_name(),
        false => target.program.file_name(),
    }
}
