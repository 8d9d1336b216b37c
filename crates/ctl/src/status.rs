//! `--status`: a running process's memory by segment, and how much of it is on huge pages.
//! [`hugetools_contract::segment`] sorts the mappings, [`hugetools_contract::report`]
//! writes the result. The library does the same for `--report`.

mod folios;
mod objects;
mod origin;
mod overview;
mod reason;
pub(crate) mod select;
mod totals;

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use hugetools_contract::report::{Life, Met, Peak, Proof, base};
use hugetools_contract::segment::{self, Extent, Huge, Row};
use hugetools_model::machine::{self, MEMINFO};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::folio::Frames;
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::Record;
use hugetools_model::thp::Thp;
use hugetools_model::{FileError, PageSize, Root};

use crate::say::failure::Failure;
use reason::Reasons;

pub(crate) use folios::base_page;
pub use folios::frames;
pub(crate) use objects::extents;
use origin::OwnOrigin;
pub use overview::{document, overview};
pub use select::{Selection, select};
pub use totals::{Totals, totals};

/// A process at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pid: Pid,
    exe: Vec<u8>,
    name: Vec<u8>,
    origin: OwnOrigin,
    rows: Vec<OwnRow>,
    /// Why the folio sizes are unknown.
    warning: Option<String>,
    reports_by_itself: bool,
}

/// A [`Row`] that outlives the text it was read from.
#[derive(Debug, Clone)]
struct OwnRow {
    row: Row<'static>,
    object: Option<Vec<u8>>,
    reason: Option<String>,
    folios: Option<Vec<Huge>>,
}

impl Snapshot {
    /// Reads a process's mappings; with `frames` their folio sizes, too.
    ///
    /// # Errors
    /// The process doesn't exist or may not be inspected.
    pub fn take(
        root: &Root,
        pid: Pid,
        frames: Option<&mut Result<Frames, FileError>>,
    ) -> Result<Snapshot, Failure> {
        // Before smaps: a process that is ending loses all of it at once.
        let origin = OwnOrigin::find(root, pid);
        let exe = exe(root, pid);
        let text = smaps(root, pid, "smaps")?;
        let mappings: Vec<Record<'_>> = hugetools_model::smaps::records(&text).collect();
        let extents = extents(root, pid, &exe, &mappings);
        let thp = Thp::read_pmd_modes(root, true)?;
        let pmd_size = pmd_size(root, thp.as_ref())?;
        let reasons = Reasons::find(root, pid, &exe, &mappings, thp.as_ref())?;
        let folios = frames.map(|frames| match frames {
            Ok(frames) => folios::read(root, pid, frames, &mappings, &extents)
                .map_err(|why| format!("process {pid}: {why}")),
            Err(why) => Err(why.to_string()),
        });
        let (folios, warning) = match folios.transpose() {
            Ok(folios) => (folios, None),
            Err(why) => (
                None,
                Some(format!("no folio sizes, which only root can read: {why}")),
            ),
        };
        let rows = rows(&mappings, &extents, pmd_size);
        let own = |row: &Row<'_>| OwnRow {
            object: row.object.map(<[u8]>::to_vec),
            reason: reasons.of(row, &exe, pmd_size),
            folios: folios.as_ref().map(|folios| folios::of_row(folios, row)),
            row: Row {
                object: None,
                reason: None,
                folios: None,
                ..*row
            },
        };
        Ok(Snapshot {
            pid,
            origin,
            name: name(root, pid, &exe),
            rows: rows.iter().map(own).collect(),
            reports_by_itself: mappings.iter().any(is_library)
                && !mappings
                    .iter()
                    .any(|one| segment::is_of_the_report(one.name)),
            exe,
            warning,
        })
    }

    /// Whether the process runs this program.
    pub(crate) fn runs(&self, program: &Path) -> bool {
        self.exe == program.as_os_str().as_bytes()
    }

    /// Returns why the folio sizes are unknown, if they are.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// Returns its total memory as a peak reached at the time `at`.
    pub(crate) fn peak(&self, at: u64) -> Peak {
        Peak::of(&self.rows(), at)
    }

    /// Whether our library prints the report, because it has not mapped the page shared with hugectl.
    pub(crate) fn reports_by_itself(&self) -> bool {
        self.reports_by_itself
    }

    /// Formats the snapshot as a table, or as one line of JSON.
    pub fn to_text(&self, json: bool) -> String {
        self.text(json, None, &[])
    }

    /// Formats the snapshot with requirements and, if the process has ended, how it ended.
    pub(crate) fn text(&self, json: bool, life: Option<Life>, required: &[Met]) -> String {
        let rows = self.rows();
        let mut required = required.to_vec();
        required.iter_mut().for_each(|met| met.measure(&rows));
        let proof = Proof {
            life,
            required: &required,
            ..self.proof(&rows)
        };
        let text = render(&proof, json);
        match self.rows.iter().any(|row| row.folios.is_some()) && !json {
            true => text + &folios::table(&rows),
            false => text,
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let rows = self.rows.iter().map(|own| Row {
            object: own.object.as_deref(),
            reason: own.reason.as_deref(),
            folios: own.folios.as_deref(),
            ..own.row
        });
        rows.collect()
    }

    fn proof<'s>(&'s self, rows: &'s [Row<'s>]) -> Proof<'s> {
        Proof {
            pid: self.pid.get(),
            exe: &self.exe,
            name: &self.name,
            origin: self.origin.get(),
            rows,
            warning: self.warning(),
            ..Proof::UNKNOWN
        }
    }
}

/// Returns a report as a table, or as one line of JSON.
pub(crate) fn render(proof: &Proof<'_>, json: bool) -> String {
    let mut text = String::new();
    let written = match json {
        true => proof.write_json(&mut text),
        false => proof.write_table(&mut text),
    };
    debug_assert!(written.is_ok(), "writing to a String cannot fail");
    text
}

fn is_library(record: &Record<'_>) -> bool {
    base(record.name).starts_with(b"libhugetlbfs")
}

/// Sorts mappings into rows, in the order of reports.
fn rows<'a>(mappings: &[Record<'a>], extents: &[Extent<'a>], pmd_size: u64) -> Vec<Row<'a>> {
    // At most: two rows for each run of equal names, and one for each extent and segment.
    let names = 1 + mappings
        .windows(2)
        .filter(|two| two[0].name != two[1].name)
        .count();
    let mut rows = vec![Row::EMPTY; 2 * names + extents.len() + segment::ALL.len()];
    let filled = segment::sort(mappings.iter().copied(), pmd_size, extents, &mut rows);
    rows.truncate(filled);
    rows.sort_by_key(|row| row.segment);
    rows
}

/// Returns the PMD size, otherwise meminfo's `Hugepagesize`, otherwise 0.
pub(crate) fn pmd_size(root: &Root, thp: Option<&Thp>) -> Result<u64, FileError> {
    let size = match thp.and_then(|thp| thp.pmd_size) {
        Some(size) => Some(size),
        None => Meminfo::read(root)?.huge_page_size,
    };
    Ok(size.map_or(0, PageSize::get))
}

/// Reads `smaps` or `smaps_rollup` of a process.
pub(crate) fn smaps(root: &Root, pid: Pid, file: &'static str) -> Result<Vec<u8>, Failure> {
    let text = root.read(&pid.path(file));
    let text = text.map_err(|error| unreadable(root, pid, &error))?;
    match text.is_empty() {
        true => Err(Failure::Own(no_memory(pid))),
        false => Ok(text),
    }
}

fn no_memory(pid: Pid) -> String {
    format!("process {pid} has no memory of its own: it is a kernel thread, or has ended")
}

fn unreadable(root: &Root, pid: Pid, error: &FileError) -> Failure {
    Failure::Own(match error.errno() {
        Some(libc::ENOENT) if machine::missing_kernel_file(root) == Some(MEMINFO) => format!(
            "process {pid} cannot be looked at: /proc is not mounted here; mount -t proc proc /proc"
        ),
        Some(libc::ESRCH) => no_memory(pid),
        Some(libc::ENOENT) => match select::hidepid(root) {
            Some(why) => format!("no process {pid} can be seen: {why}"),
            None => format!("there is no process {pid}"),
        },
        Some(libc::EACCES | libc::EPERM) => {
            format!("{error}; run as the owner of process {pid}, or with CAP_SYS_PTRACE")
        }
        _ => error.to_string(),
    })
}

/// Returns the path of the executable; empty if unreadable.
pub(crate) fn exe(root: &Root, pid: Pid) -> Vec<u8> {
    let path = process::exe(root, pid).unwrap_or_default();
    path.into_os_string().into_vec()
}

/// Returns the name of the process (`comm`), or of its executable if that is unreadable.
pub(crate) fn name(root: &Root, pid: Pid, exe: &[u8]) -> Vec<u8> {
    process::name(root, pid).unwrap_or_else(|| base(exe).to_vec())
}

#[cfg(test)]
mod tests;
