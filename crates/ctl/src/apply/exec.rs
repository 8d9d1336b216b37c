//! The last call: hugectl becomes the program.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hugetools_model::root::error::describe_errno;
use nix::errno::Errno;
use nix::unistd::execve;

use crate::apply::{Applied, writers};
use crate::caller::{Caller, value};
use crate::plan::{Plan, Program, Value};
use crate::probe::target::SHELL;
use crate::say::failure::Failure;

/// What to do where arguments and environment are too long.
pub const TO_MAKE_ROOM: &str = "fewer of its arguments and variables leave room, or a longer \
                                limit of the stack (ulimit -s)";

/// Why the program was not started.
#[derive(Debug)]
pub struct Unstarted {
    /// What is said of it.
    pub failure: Failure,
    /// Whether the kernel takes no arguments and environment of this length: without the
    /// plan's variables it may.
    pub is_too_long: bool,
}

impl Unstarted {
    fn own(why: String) -> Unstarted {
        Unstarted {
            failure: Failure::Own(why),
            is_too_long: false,
        }
    }
}

/// Becomes the program of the plan, as far as that was applied.
///
/// # Errors
/// There is no way back but an error; with a plan that has no program, too.
pub fn exec(plan: &Plan, applied: &Applied, caller: &Caller) -> Unstarted {
    exec_with(plan, &environment(plan, applied, caller))
}

/// Becomes it with the caller's environment and nothing of ours.
///
/// # Errors
/// Likewise.
pub fn exec_plainly(plan: &Plan, caller: &Caller) -> Unstarted {
    exec_with(plan, &c_strings(&caller.env))
}

fn exec_with(plan: &Plan, env: &[CString]) -> Unstarted {
    let Some(program) = &plan.program else {
        return Unstarted::own("there is no program to start".to_owned());
    };
    match try_exec(program, env) {
        Ok(errno) => Unstarted {
            failure: refused(program, errno),
            is_too_long: errno == Errno::E2BIG,
        },
        Err(error) => Unstarted::own(error),
    }
}

/// Tries the program, then the shell for a text; returns why the kernel took
/// neither.
fn try_exec(program: &Program, env: &[CString]) -> Result<Errno, String> {
    let path = c_string(program.path.as_os_str())?;
    let argv = program
        .argv
        .iter()
        .map(|word| c_string(word))
        .collect::<Result<Vec<_>, _>>()?;
    let Err(errno) = execve(&path, &argv, env);
    if errno != Errno::ENOEXEC || !program.is_text {
        return Ok(errno);
    }
    let shell = c_string(OsStr::new(SHELL))?;
    let mut with_shell = vec![shell.clone(), path];
    with_shell.extend(argv.into_iter().skip(1));
    let Err(errno) = execve(&shell, &with_shell, env);
    Ok(errno)
}

fn refused(program: &Program, errno: Errno) -> Failure {
    let path = program.path.display();
    let why = describe_errno(errno as i32);
    let doubt = program.doubt.as_ref().map(|doubt| format!("; {doubt}"));
    let next = match errno {
        Errno::ETXTBSY => writers::said(&program.path),
        Errno::E2BIG => format!("\n  {TO_MAKE_ROOM}"),
        _ => String::new(),
    };
    let text = format!(
        "cannot run {path}: {why}{}{next}",
        doubt.unwrap_or_default()
    );
    match errno {
        Errno::ENOENT => Failure::NotFound(text),
        _ => Failure::CannotRun(text),
    }
}

/// The caller's environment with the plan's variables: in the place of an old
/// value, else at the end.
fn environment(plan: &Plan, applied: &Applied, caller: &Caller) -> Vec<CString> {
    let mut env = caller.env.clone();
    for variable in plan.variables.iter().chain(&applied.variables) {
        let new = match &variable.value {
            Value::Text(text) => text.clone(),
            Value::Process => caller.pid.to_string().into(),
            Value::ProcessAnd(text) => {
                let mut value = OsString::from(format!("{}:", caller.pid));
                value.push(text);
                value
            }
        };
        let mut entry = OsString::from(variable.name);
        entry.push("=");
        entry.push(new);
        let mut done = false;
        env.retain_mut(|old| {
            if value(old, variable.name).is_none() {
                return true;
            }
            old.clone_from(&entry);
            // A name that is there twice is left once.
            !std::mem::replace(&mut done, true)
        });
        if !done {
            env.push(entry);
        }
    }
    c_strings(&env)
}

fn c_strings(all: &[OsString]) -> Vec<CString> {
    let all = all.iter();
    all.filter_map(|entry| c_string(entry).ok()).collect()
}

fn c_string(text: &OsStr) -> Result<CString, String> {
    CString::new(text.as_bytes()).map_err(|_error| "a word holds a zero byte".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Variable;

    #[test]
    fn variables_replace_old_ones_once() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut caller = Caller::this([pair("A", "1"), pair("B", "2"), pair("A", "3")]);
        caller.env.push("AB".into());
        let variable = |name, value: &str| Variable {
            name,
            value: Value::Text(value.into()),
        };
        let plan = Plan {
            variables: vec![variable("A", "x"), variable("C", "y")],
            ..Plan::default()
        };
        let applied = Applied::default();
        let env = environment(&plan, &applied, &caller);
        assert_eq!(
            env,
            [c"A=x", c"B=2", c"AB", c"C=y"].map(|entry| entry.to_owned())
        );
        assert_eq!(exec(&plan, &applied, &caller).failure.status(), 125);
    }
}
