//! Finds the target from the real linker and the files on its command line.

use std::ffi::OsString;
use std::path::Path;

use hugetools_elf::{Ident, Table};

use super::caller::Caller;
use super::plan::Dialect;
use super::request::Request;
use super::run::{command, start_failure};
use super::target;
use crate::failure::Failure;
use crate::file;

/// The output of `ld -V`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Linker {
    pub(crate) dialect: Dialect,
    /// The default emulation.
    emulation: Option<String>,
}

/// Runs `ld -V`.
pub(crate) fn ask(linker: &[OsString]) -> Result<Linker, Failure> {
    let output = command(linker).arg("-V").output();
    let output = output.map_err(|error| start_failure(linker, &error))?;
    Ok(read(&String::from_utf8_lossy(&output.stdout)))
}

fn read(text: &str) -> Linker {
    let first = text.lines().next().unwrap_or_default();
    let dialect = match first.contains("LLD") {
        true => Dialect::Lld,
        false => Dialect::Gnu,
    };
    // GNU ld lists its default first. gold's default is the emulation of the first object file.
    let default_is_first = first.contains("GNU ld");
    let mut lines = text.lines().map(str::trim);
    let emulation = lines
        .find(|line| *line == "Supported emulations:")
        .and_then(|_| lines.next())
        .filter(|_| default_is_first);
    Linker {
        dialect,
        emulation: emulation.map(str::to_owned),
    }
}

/// Finds the target: from the command line, else from the environment, the first object file or the
/// linker.
pub(crate) fn ident(caller: &Caller, request: &Request, linker: &Linker) -> Result<Ident, Failure> {
    let mut named = request.emulation.as_ref().or(caller.emulation.as_ref());
    if named.is_none() {
        let from_file = request.args.iter().find_map(|arg| object(Path::new(arg)));
        if let Some(ident) = from_file {
            return Ok(ident);
        }
        named = linker.emulation.as_ref();
    }
    let name = named.ok_or_else(|| {
        Failure::new("cannot tell the target machine").next("name the emulation: -m NAME")
    })?;
    target::ident(name).ok_or_else(|| unknown_page_size(&format!("emulation {name}")))
}

/// Returns the error for a target without a known huge page size.
pub(crate) fn unknown_page_size(target: &str) -> Failure {
    Failure::new(format!("the huge page size of {target} is not known"))
        .next("set it with --hugetlbfs-align=SIZE")
}

/// Returns the architecture of an object file.
fn object(path: &Path) -> Option<Ident> {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let file = file::open(path, false).ok()?;
    Table::read(file).ok().map(|table| table.ident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dialect_and_emulation() {
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
