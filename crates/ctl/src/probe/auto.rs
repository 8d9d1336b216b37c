//! `--auto`: the options that suit a program, by the tables of known programs.

mod limits;

use std::ffi::OsString;

use crate::args::{self, Args, Chosen};
use crate::caller::Caller;
use crate::probe::command_line::known_programs;
use crate::probe::target;
use crate::say::failure::Failure;
use crate::say::subject::Subject;

/// Reads a command line again, with what `--auto` chooses in front of all that was
/// typed, which counts before it. Without `--auto`, and where no program is started, it
/// stays as it is.
///
/// # Errors
/// When the program cannot be run, or its entry has an option that does not go with the
/// others.
pub fn resolve(args: Args, argv: &[OsString], caller: &Caller) -> Result<Args, Failure> {
    let starts = args.given.of_running().is_none() && args.proof.emit.is_none();
    let (true, true, Some(program)) = (args.segments.auto, starts, args.command.first()) else {
        return Ok(args);
    };
    let opened = target::open(program, caller)?;
    let (entry, faults) = known_programs::entry_of(&args.command, &opened, caller);
    let Some(mut entry) = entry else {
        return Err(Failure::Own(format!(
            "--auto: no table of known programs can be used ({})",
            faults.join("; ")
        )));
    };
    limits::apply(&mut entry, &opened, caller);
    let typed_heap = args.segments.heap.is_some() || args.segments.thp;
    let typed_anon = args.segments.anon.is_some();
    let (tool, typed) = argv.split_first().unwrap_or((program, &[]));
    let options = entry.auto.iter().map(|option| option.as_ref().into());
    let words = std::iter::once(tool.clone()).chain(options);
    let again = args::parse(words.chain(typed.iter().cloned()));
    let mut args = again.map_err(|error| {
        let text = error.render().to_string();
        Failure::Own(format!("--auto, for {}: {}", entry.name, first_line(&text)))
    })?;
    let choice = entry
        .choice()
        .map(|choice| format!("--auto takes {choice}"));
    let beware = entry
        .beware
        .map(|beware| format!("{}: {beware}", entry.name));
    args.chosen = Some(Chosen {
        lines: choice.into_iter().chain(beware).collect(),
        subject: Subject::HEAP.when(!typed_heap) | Subject::ANON.when(!typed_anon),
    });
    Ok(args)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
