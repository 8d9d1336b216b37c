//! `--totals`: a process's memory as the kernel sums it up (`/proc/PID/smaps_rollup`, Linux
//! 4.14), which is cheaper than the list of all mappings.

use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;

use hugetools_contract::report::{self, Lossy, Tenths, base};
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::records;
use hugetools_model::{FileError, Root};

use super::{overview, unreadable};
use crate::say::failure::Failure;

/// A process's memory in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    pid: Pid,
    exe: Vec<u8>,
    name: Vec<u8>,
    sums: Sums,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    resident: u64,
    thp: u64,
    hugetlb: u64,
}

impl Totals {
    /// Reads a process's memory.
    ///
    /// # Errors
    /// There is no such process, or it may not be inspected.
    pub fn take(root: &Root, pid: Pid) -> Result<Totals, Failure> {
        let failed = |error: FileError| unreadable(root, pid, &error);
        let text = match root.read_opt(&pid.path("smaps_rollup")).map_err(failed)? {
            Some(text) => text,
            None => process::read_smaps(root, pid).map_err(failed)?,
        };
        if text.is_empty() {
            return Err(super::no_memory(pid));
        }
        let exe = process::exe(root, pid).unwrap_or_default();
        let exe = exe.as_os_str().as_bytes().to_vec();
        let mut sums = Sums::default();
        for record in records(&text) {
            sums.resident += record.resident();
            sums.thp += record.thp();
            sums.hugetlb += record.hugetlb;
        }
        Ok(Totals {
            pid,
            name: process::name(root, pid).unwrap_or_else(|| base(&exe).to_vec()),
            exe,
            sums,
        })
    }

    fn write_json(&self, out: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        write!(out, "{{\"pid\":{},\"exe\":", self.pid)?;
        report::write_string(out, &self.exe)?;
        out.push_str(",\"name\":");
        report::write_string(out, &self.name)?;
        let Sums {
            resident,
            thp,
            hugetlb,
        } = self.sums;
        write!(
            out,
            ",\"totals\":{{\"resident\":{resident},\"thp\":{thp},\"hugetlb\":{hugetlb}}}}}"
        )
    }
}

impl Sums {
    fn line(self, first: &dyn Display, last: &dyn Display) -> String {
        let share = Tenths::of(self.thp + self.hugetlb, self.resident);
        let all = [self.resident, self.thp, self.hugetlb];
        let [resident, thp, hugetlb] = all.map(|bytes| bytes / 1024);
        let first = first.to_string();
        format!("{first:>8} {resident:>12} {thp:>12} {hugetlb:>12}  {share:>5}%  {last}\n")
    }
}

/// A table with a last line for the sum, or one JSON document.
pub fn totals(all: &[Totals], warnings: &[String], json: bool) -> String {
    if json {
        return overview::document(all, warnings, |text, one| one.write_json(text));
    }
    let mut text = "     pid  resident kB       thp kB   hugetlb kB   share  name\n".to_owned();
    let mut sum = Sums::default();
    for one in all {
        text += &one.sums.line(&one.pid, &Lossy(&one.name));
        sum.resident += one.sums.resident;
        sum.thp += one.sums.thp;
        sum.hugetlb += one.sums.hugetlb;
    }
    if all.len() != 1 {
        text += &sum.line(&"all", &"what they share is counted for each");
    }
    text
}
