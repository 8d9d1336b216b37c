//! Finds the linker's dialect, and the target from the object files on its command line.

use std::ffi::OsString;
use std::path::Path;

use hugetools_elf::{Ident, Placing, Table};

use super::plan::Dialect;
use super::request::Request;
use super::run::{command, start_failure};
use crate::failure::Failure;
use crate::file;

/// Finds the dialect by `ld -V`.
pub(crate) fn dialect(linker: &[OsString]) -> Result<Dialect, Failure> {
    let output = command(linker).arg("-V").output();
    let output = output.map_err(|error| start_failure(linker, &error))?;
    let first = output.stdout.split(|byte| *byte == b'\n').next();
    let is_lld = first.is_some_and(|line| String::from_utf8_lossy(line).contains("LLD"));
    Ok(if is_lld { Dialect::Lld } else { Dialect::Gnu })
}

/// Returns the architecture of the first object file.
pub(crate) fn ident(request: &Request) -> Option<Ident> {
    request.args.iter().find_map(|arg| object(Path::new(arg)))
}

fn object(path: &Path) -> Option<Ident> {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let table = Table::read(file::open(path, false).ok()?).ok()?;
    // Programs and libraries can be for the build machine, such as the compiler's plugin.
    (table.placing == Placing::NotLoaded).then_some(table.ident)
}

/// Returns the error for a target without a known huge page size.
pub(crate) fn unknown_page_size(target: Option<Ident>) -> Failure {
    let what = match target {
        Some(target) => format!("the huge page size of {target} is not known"),
        None => "no object file names the target machine".to_owned(),
    };
    Failure::new(what).next("set the size with --hugetlbfs-align=SIZE")
}
