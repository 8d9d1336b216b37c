//! `--emit`: settings for a starter other than hugectl.

use std::ffi::OsString;
use std::path::Path;

use super::{Run, run, usage};
use crate::args::{Args, TERMINAL, given};
use crate::say::failure::Failure;

/// Print settings for another starter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emit {
    pub(crate) kind: EmitKind,
    /// The kind as typed.
    pub(crate) word: String,
    pub(crate) name: Option<OsString>,
    /// The settings: a dry run, with a program only for an environment file.
    pub run: Run,
}

/// A starter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmitKind {
    Systemd,
    Environment,
    Docker,
    Kubernetes,
}

const KINDS: [(&str, EmitKind); 4] = [
    ("systemd", EmitKind::Systemd),
    ("environment", EmitKind::Environment),
    ("docker", EmitKind::Docker),
    ("kubernetes", EmitKind::Kubernetes),
];

pub(super) fn read(mut args: Args) -> Result<Emit, Failure> {
    let word = args.reports.emit.take().unwrap_or_default();
    let found = KINDS.into_iter().find(|(known, _)| *known == word);
    let Some((_, kind)) = found else {
        return usage(format!("--emit={word}: no such kind"));
    };
    if let Some(option) = args.given.first_of(given::NOT_EMITTED) {
        return usage(format!(
            "--emit starts no program, so {option} has no meaning with it"
        ));
    }
    if args.reports.report.as_deref() == Some(Path::new(TERMINAL)) {
        return usage("--emit: hugectl does not wait for a service; write --report=FILE");
    }
    if let Some(word) = args
        .segments
        .thp_policy
        .as_deref()
        .filter(|word| *word != "always")
    {
        return usage(format!(
            "--emit starts no program, so --thp-policy={word} has no meaning with it; always \
             lifts the program's own ban"
        ));
    }
    let name = args.command.first().cloned();
    if kind != EmitKind::Environment {
        if let Some(more) = args.command.get(1) {
            let more = Path::new(more).display();
            return usage(match more.to_string().starts_with('-') {
                true => format!("--emit={word}: {more} belongs before the unit or image"),
                false => format!("--emit={word} takes one unit or image, not {more}"),
            });
        }
        // The unit or image is no program of this machine.
        args.command.clear();
    }
    args.reports.dry_run = true;
    let run = run(args)?;
    Ok(Emit {
        kind,
        word,
        name,
        run,
    })
}
