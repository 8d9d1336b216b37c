//! Other programs: packagers, compressors.

use std::process::Command;

use crate::failure::Failure;

/// Runs a command to its end; what it prints is shown where it fails.
pub(crate) fn done(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Failure::new(format!("cannot run {name}: {error}"))
            .next(format!("install the package that has {name}"))
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(Failure::new(format!(
            "{name}: {}\n{}{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        ))),
    }
}

/// Whether a command can be run at all.
pub(crate) fn has(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").output().is_ok()
}
