//! `--status`: what a running process has on huge pages. Mappings are sorted into
//! segments by [`hugetools_contract::segment`], and written by
//! [`hugetools_contract::report`], as the library does it for `--report`.

mod folios;
mod mappings;
mod objects;
mod origin;
mod reason;
mod several;
mod shm_group;
mod totals;
mod whole;
mod whom;

use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use hugetools_contract::report::{Life, Met, Peak, Proof, base};
use hugetools_contract::segment::{self, Extent, Row, Segment};
use hugetools_model::machine::{self, MEMINFO};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::folio::Frames;
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::Record;
use hugetools_model::thp::Thp;
use hugetools_model::{FileError, Root};

use crate::say::failure::Failure;
use folios::Folios;
use mappings::Mappings;
use objects::Known;
use reason::Reasons;
use whole::Whole;

pub(crate) use folios::base_page;
pub use folios::frames;
pub(crate) use origin::OwnOrigin;
pub use several::several;
pub use totals::{Totals, totals};
pub use whom::{Chosen, choose};

/// A process at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pid: Pid,
    exe: Vec<u8>,
    name: Vec<u8>,
    origin: OwnOrigin,
    mappings: Mappings,
    pmd_size: u64,
    known: Vec<Known>,
    reasons: Reasons,
    life: Option<Life>,
    /// What was required of it.
    required: Vec<Met>,
    /// What it lies in, where that was asked for.
    folios: Option<Folios>,
}

impl Snapshot {
    /// Looks at a process.
    ///
    /// # Errors
    /// When there is no such process, or it may not be looked at.
    pub fn take(root: &Root, pid: Pid) -> Result<Snapshot, Failure> {
        let mappings = mappings_of(root, pid)?;
        let exe = exe(root, pid, &mappings);
        let failed = |error: FileError| Failure::Own(error.to_string());
        let thp = Thp::read_whole(root, true).map_err(failed)?;
        let pmd_size = match thp.as_ref().and_then(|thp| thp.pmd_size) {
            Some(size) => Some(size),
            None => Meminfo::read(root).map_err(failed)?.huge_page_size,
        };
        Ok(Snapshot {
            pid,
            origin: OwnOrigin::find(root, pid),
            known: objects::find(root, pid, &exe, &mappings),
            reasons: Reasons::find(root, pid, &exe, &mappings, thp.as_ref()).map_err(failed)?,
            pmd_size: pmd_size.map_or(0, hugetools_model::PageSize::get),
            name: process::name(root, pid).unwrap_or_else(|| base(&exe).to_vec()),
            exe,
            mappings,
            life: None,
            required: Vec::new(),
            folios: None,
        })
    }

    /// Looks at what sizes of folios it lies in, too.
    pub fn look_at_folios(&mut self, root: &Root, frames: Result<&mut Frames, &mut FileError>) {
        let extents: Vec<Extent<'_>> = self.known.iter().map(Known::extent).collect();
        self.folios = Some(match frames {
            Ok(frames) => Folios::look(root, self.pid, frames, &self.mappings, &extents),
            Err(why) => Folios::unknown(&why.to_string()),
        });
    }

    /// What could not be looked at.
    pub fn warning(&self) -> Option<&str> {
        self.folios.as_ref()?.left.as_deref()
    }

    /// The same of a process that has ended since, of which so much was required.
    #[must_use]
    pub(crate) fn with_life(&self, life: Life, required: Vec<Met>) -> Snapshot {
        Snapshot {
            life: Some(life),
            required,
            ..self.clone()
        }
    }

    /// Goes through its memory: each mapping, or each piece of one that belongs to a
    /// segment of its own, by address.
    pub(crate) fn each_piece<'s>(
        &'s self,
        found: impl FnMut(&Record<'s>, Range<u64>, Segment, Option<&'s [u8]>),
    ) {
        let extents: Vec<Extent<'s>> = self.known.iter().map(Known::extent).collect();
        segment::pieces(self.mappings.records(), &extents, found);
    }

    /// The size of a transparent huge page, 0 where it is not known.
    pub(crate) fn pmd_size(&self) -> u64 {
        self.pmd_size
    }

    /// The path of its executable.
    pub(crate) fn exe(&self) -> &[u8] {
        &self.exe
    }

    /// The name by which it goes.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    /// What it has in all, at a time.
    pub(crate) fn peak(&self, at: u64) -> Peak {
        self.proof(|proof| Peak::of(proof.rows, at))
    }

    /// Whether it has the page that `hugectl --report` shares with it.
    pub(crate) fn is_attached(&self) -> bool {
        let mut all = self.mappings.records();
        all.any(|record| segment::is_of_the_report(record.name))
    }

    /// Whether a program is being loaded: nothing is there but itself and its loader, which
    /// maps libraries, the preloaded ones first.
    pub(crate) fn is_being_loaded(&self) -> bool {
        let base = |name: &[u8]| name.rsplit(|byte| *byte == b'/').next().map(<[u8]>::to_vec);
        let all = self
            .mappings
            .records()
            .filter_map(|record| base(record.name));
        let (mut loader, mut others) = (false, false);
        for name in all {
            let is_loader = name.starts_with(b"ld-");
            loader |= is_loader;
            others |= !is_loader && name.windows(3).any(|part| part == b".so");
        }
        loader && !others
    }

    /// Whether one of our libraries is in the process.
    pub(crate) fn has_library(&self) -> bool {
        reason::has_library(&self.mappings)
    }

    /// As a table, or as one line of JSON: the schema of
    /// [`hugetools_contract::report`].
    pub fn to_text(&self, json: bool) -> String {
        self.proof(|proof| {
            let mut text = String::new();
            let written = match json {
                true => proof.write_json(&mut text),
                false => proof.write_table(&mut text),
            };
            debug_assert!(written.is_ok(), "a String takes everything");
            text + &self.folio_table(json)
        })
    }

    fn folio_table(&self, json: bool) -> String {
        let folios = self.folios.as_ref().filter(|_| !json);
        folios.map(Folios::table).unwrap_or_default()
    }

    /// What was found out.
    fn proof<T>(&self, show: impl FnOnce(&Proof<'_>) -> T) -> T {
        let extents: Vec<Extent<'_>> = self.known.iter().map(Known::extent).collect();
        // Each name can be a file's or that of shared memory; others have none.
        let most = 2 * self.mappings.names() + extents.len() + segment::ALL.len();
        let mut rows = vec![Row::EMPTY; most];
        let mappings = self.mappings.records();
        let filled = segment::sort(mappings, self.pmd_size, &extents, &mut rows);
        rows.truncate(filled);
        rows.sort_by_key(|row| row.segment);
        let whole = |segments: &[Segment]| {
            Whole::of(segments, &self.exe, &self.known, &rows, self.pmd_size)
        };
        let text = whole(&[Segment::Text]);
        let data = whole(&[Segment::Data, Segment::Bss]);
        for row in &mut rows {
            row.reason = self.reason(row, text, data);
            row.folios = self.folios.as_ref().and_then(|folios| folios.of_row(row));
        }
        let mut required = self.required.clone();
        required.iter_mut().for_each(|met| met.measure(&rows));
        show(&Proof {
            pid: self.pid.get(),
            exe: &self.exe,
            name: &self.name,
            origin: self.origin.get(),
            rows: &rows,
            required: &required,
            warning: self.warning(),
            life: self.life,
        })
    }

    /// Why a segment is not on huge pages, where it is worth a word: not for
    /// less than a page, nor for the last few pages of a segment.
    fn reason(&self, row: &Row<'_>, text: Whole, data: Whole) -> Option<&str> {
        let rest = row.resident.saturating_sub(row.huge_bytes());
        if rest < self.pmd_size || rest < row.resident / 20 {
            return None;
        }
        let is_exe = row.object == Some(self.exe.as_slice());
        match row.segment {
            Segment::Text if is_exe => self.reasons.text.reason(text),
            Segment::Text => self.reasons.libraries.as_deref(),
            Segment::Data | Segment::Bss if is_exe => self.reasons.data.reason(data),
            Segment::Heap => self.reasons.of_heap(row),
            Segment::Shm => self.reasons.shm.as_deref(),
            Segment::Anon => self.reasons.anon.as_deref(),
            Segment::Stack => self.reasons.stack.as_deref(),
            _ => None,
        }
    }
}

fn mappings_of(root: &Root, pid: Pid) -> Result<Mappings, Failure> {
    let mappings = Mappings::read(root, pid).map_err(|error| unreadable(root, pid, &error))?;
    match mappings.is_empty() {
        true => Err(nothing(pid)),
        false => Ok(mappings),
    }
}

fn nothing(pid: Pid) -> Failure {
    Failure::Own(format!(
        "process {pid} has no memory of its own: it is a part of the kernel, or has ended"
    ))
}

fn unreadable(root: &Root, pid: Pid, error: &FileError) -> Failure {
    Failure::Own(match error.errno() {
        Some(libc::ENOENT) if machine::unseen(root) == Some(MEMINFO) => format!(
            "process {pid} cannot be looked at: /proc is not mounted here; mount -t proc proc /proc"
        ),
        Some(libc::ENOENT | libc::ESRCH) => match whom::of_others(root) {
            Some(why) => format!("no process {pid} can be seen: {why}"),
            None => format!("there is no process {pid}"),
        },
        Some(libc::EACCES | libc::EPERM) => {
            format!("{error}; ask as the owner of process {pid}, or with CAP_SYS_PTRACE")
        }
        _ => error.to_string(),
    })
}

/// The executable; where the link cannot be read, the first file that is
/// mapped to be executed.
fn exe(root: &Root, pid: Pid, mappings: &Mappings) -> Vec<u8> {
    if let Ok(path) = process::exe(root, pid) {
        return path.as_os_str().as_bytes().to_vec();
    }
    let mut files = mappings
        .records()
        .filter(|r| r.executable && r.name.starts_with(b"/"));
    files
        .next()
        .map(|record| record.name.to_vec())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
