//! Executes the program in place of hugectl.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use hugetools_model::root::error::describe_errno;
use nix::errno::Errno;
use nix::unistd::execve;

use crate::apply::Applied;
use crate::caller::{Caller, value};
use crate::plan::{Plan, Program, Variable};
use crate::probe::target::SHELL;
use crate::say::failure::Failure;

/// Executes the program of the plan. Returns only on failure, or if the plan has no program.
pub fn exec(plan: &Plan, applied: &Applied, caller: &Caller) -> Failure {
    let Some(program) = &plan.program else {
        return Failure::Own("there is no program to start".to_owned());
    };
    let variables = plan.variables.iter().chain(&applied.variables);
    let env = environment(variables, caller);
    let env: Vec<CString> = env.iter().map(|entry| c_string(entry)).collect();
    let mut argv: Vec<CString> = program.argv.iter().map(|word| c_string(word)).collect();
    let path = c_string(program.path.as_os_str());
    let Err(mut errno) = execve(&path, &argv, &env);
    if errno == Errno::ENOEXEC && program.is_text {
        // A script without `#!`.
        let shell = c_string(OsStr::new(SHELL));
        argv.splice(..1, [shell.clone(), path]);
        Err(errno) = execve(&shell, &argv, &env);
    }
    exec_failure(program, errno)
}

fn exec_failure(program: &Program, errno: Errno) -> Failure {
    let path = program.path.display();
    let why = describe_errno(errno as i32);
    let hint = program.exec_hint.as_ref().map(|hint| format!("; {hint}"));
    let next = match errno {
        Errno::ETXTBSY => {
            "; a process has it open for writing: wait until it is closed, or replace the file by \
             a rename"
        }
        _ => "",
    };
    let hint = hint.unwrap_or_default();
    let text = format!("cannot run {path}: {why}{hint}{next}");
    match errno {
        Errno::ENOENT => Failure::NotFound(text),
        _ => Failure::CannotRun(text),
    }
}

/// Returns the caller's environment with these variables set.
fn environment<'v>(
    variables: impl Iterator<Item = &'v Variable>,
    caller: &Caller,
) -> Vec<OsString> {
    let mut env = caller.env.clone();
    for variable in variables {
        env.retain(|old| value(old, variable.name).is_none());
        let mut entry = OsString::from(format!("{}=", variable.name));
        entry.push(variable.value.with(&caller.pid.to_string()));
        env.push(entry);
    }
    env
}

/// No argument or variable contains NUL: all come from the kernel or the command line.
fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}
