//! Executes the program in place of hugectl.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hugetools_model::root::error::describe_errno;
use nix::errno::Errno;
use nix::unistd::execve;

use crate::apply::Applied;
use crate::caller::{Caller, value};
use crate::plan::{Plan, Program, Value};
use crate::probe::target::SHELL;
use crate::say::failure::Failure;

/// Executes the program of the plan. Returns only if that failed, or if the plan has no
/// program.
pub fn exec(plan: &Plan, applied: &Applied, caller: &Caller) -> Failure {
    let Some(program) = &plan.program else {
        return Failure::Own("there is no program to start".to_owned());
    };
    match try_exec(program, &environment(plan, applied, caller)) {
        Ok(errno) => refused(program, errno),
        Err(error) => Failure::Own(error),
    }
}

/// Executes the program, or the shell for a script without `#!`. Returns the kernel's error.
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
        Errno::ETXTBSY => {
            "; some process has it open for writing: start it once that is closed, or put the new \
             file in its place by a rename"
        }
        Errno::E2BIG => {
            "\n  fewer of its arguments and variables leave room, or a longer limit of the stack \
             (ulimit -s)"
        }
        _ => "",
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

/// The caller's environment with the plan's variables: in the place of an old value, or at the
/// end.
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
            // A duplicate name keeps one entry.
            !std::mem::replace(&mut done, true)
        });
        if !done {
            env.push(entry);
        }
    }
    env.iter()
        .filter_map(|entry| c_string(entry).ok())
        .collect()
}

fn c_string(text: &OsStr) -> Result<CString, String> {
    CString::new(text.as_bytes()).map_err(|_error| "an argument contains a NUL byte".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Variable;
    use crate::probe::heap_engine::Engine;

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
            program: None,
            engine: Engine::None,
            notes: Vec::new(),
            report: None,
            core_dump: None,
            thp_policy: None,
            library: None,
            text: Vec::new(),
            text_is_static: false,
        };
        let applied = Applied::default();
        let env = environment(&plan, &applied, &caller);
        assert_eq!(
            env,
            [c"A=x", c"B=2", c"AB", c"C=y"].map(|entry| entry.to_owned())
        );
        assert_eq!(exec(&plan, &applied, &caller).status(), 125);
    }
}
