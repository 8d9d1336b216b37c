//! Runs packaging tools and other programs.

use std::process::Command;

use crate::failure::Failure;

/// Runs a command and returns its output. An error contains the output.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        Failure::new(format!("cannot run {name}: {error}"))
            .advise(format!("install the package that contains {name}"))
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

/// Whether a command can be started.
pub(crate) fn has(name: &str) -> bool {
    let mut command = Command::new(name);
    command.arg("--version").output().is_ok()
}
