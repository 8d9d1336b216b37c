//! What the real linker and the files on its line say about the target.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use hugetools_elf::{Ident, Table};

use super::caller::Caller;
use super::plan::Dialect;
use super::request::Request;
use super::run::command;
use super::target;
use crate::failure::{Failure, told};
use crate::file;

/// What the linker says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Linker {
    /// Its dialect.
    pub(crate) dialect: Dialect,
    /// The emulation that it takes without being told.
    emulation: Option<String>,
}

/// Asks the linker.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn ask(linker: &[OsString]) -> Result<Linker, Failure> {
    let mut command: Command = command(linker);
    let output = command.arg("-V").output().map_err(|error| {
        let name = linker.first().map(Path::new).unwrap_or(Path::new(""));
        Failure::of(name, format_args!("cannot be started: {}", told(&error)))
    })?;
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

fn read(text: &str) -> Linker {
    let first = text.lines().next().unwrap_or_default();
    let dialect = match first.contains("LLD") {
        true => Dialect::Lld,
        false => Dialect::Gnu,
    };
    // gold lists all that it knows, and takes that of the first object file.
    let lists = first.contains("GNU ld");
    let mut lines = text.lines().map(str::trim);
    let emulation = lines
        .find(|line| *line == "Supported emulations:")
        .and_then(|_| lines.next())
        .filter(|_| lists);
    Linker {
        dialect,
        emulation: emulation.map(str::to_owned),
    }
}

/// The machine that is linked for: as the line says, or the environment, or
/// the first file on the line that says, or the linker.
///
/// # Errors
/// When nothing says it, or it is unknown.
pub(crate) fn ident(caller: &Caller, request: &Request, linker: &Linker) -> Result<Ident, Failure> {
    let named = request.emulation.as_ref().or(caller.emulation.as_ref());
    if let Some(name) = named {
        return target::ident(name).ok_or_else(|| unknown(&format!("emulation {name}")));
    }
    let from_file = request.args.iter().find_map(|arg| object(Path::new(arg)));
    if let Some(ident) = from_file {
        return Ok(ident);
    }
    match &linker.emulation {
        Some(name) => target::ident(name).ok_or_else(|| unknown(&format!("emulation {name}"))),
        None => Err(Failure::new("nothing says for which machine is linked")
            .next("name the emulation: -m NAME")),
    }
}

/// That the huge pages of a target are unknown.
pub(crate) fn unknown(target: &str) -> Failure {
    Failure::new(format!("the huge pages of {target} are not known"))
        .next("say their size: --hugetlbfs-align=SIZE")
}

/// The machine of an object file.
fn object(path: &Path) -> Option<Ident> {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let file = file::open(path, false).ok()?;
    let len = file.metadata().ok()?.len();
    Table::read(file, len).ok().map(|table| table.ident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkers_are_told_apart() {
        let gnu = "GNU ld (GNU Binutils for Debian) 2.40\n  Supported emulations:\n   aarch64linux\n   elf_i386\n";
        let expected = Linker {
            dialect: Dialect::Gnu,
            emulation: Some("aarch64linux".to_owned()),
        };
        assert_eq!(read(gnu), expected);
        let gold = "GNU gold (GNU Binutils for Debian 2.40) 1.16\n  Supported targets:\n   elf64-s390\n  Supported emulations:\n   elf64_s390\n";
        assert_eq!(read(gold).dialect, Dialect::Gnu);
        assert_eq!(read(gold).emulation, None);
        let lld = "Debian LLD 14.0.6 (compatible with GNU linkers)\n";
        assert_eq!(read(lld).dialect, Dialect::Lld);
        assert_eq!(read("").emulation, None);
    }
}
