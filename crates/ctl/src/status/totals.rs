//! `--totals`: a process's memory as the kernel sums it up in `/proc/PID/smaps_rollup`, which is
//! cheaper than a list of all mappings.

use std::fmt::Display;

use hugetools_contract::report::{Lossy, Tenths};
use hugetools_model::process::Pid;
use hugetools_model::smaps::records;
use hugetools_model::{Head, Root};
use serde::Serialize;

use super::document;
use crate::say::failure::Failure;

/// A process's memory, as one line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Totals {
    pid: u32,
    exe: String,
    name: String,
    totals: Sums,
}

/// Resident bytes, and how many of them are on huge pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct Sums {
    resident: u64,
    thp: u64,
    hugetlb: u64,
}

impl Totals {
    /// Reads and adds up a process's `smaps_rollup`.
    ///
    /// # Errors
    /// The process doesn't exist or may not be inspected.
    pub fn take(root: &Root, pid: Pid) -> Result<Totals, Failure> {
        let text = super::smaps(root, pid, "smaps_rollup")?;
        let mut totals = Sums::default();
        for record in records(&text) {
            totals.resident += record.resident();
            totals.thp += record.thp();
            totals.hugetlb += record.hugetlb;
        }
        let exe = super::exe(root, pid);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Totals {
            pid: pid.get(),
            name: text(&super::name(root, pid, &exe)),
            exe: text(&exe),
            totals,
        })
    }
}

impl Sums {
    fn line(self, pid: &dyn Display, name: &dyn Display) -> String {
        let share = Tenths::of(self.thp + self.hugetlb, self.resident);
        let all = [self.resident, self.thp, self.hugetlb];
        let [resident, thp, hugetlb] = all.map(|bytes| bytes / 1024);
        let pid = pid.to_string();
        format!("{pid:>8} {resident:>12} {thp:>12} {hugetlb:>12}  {share:>5}%  {name}\n")
    }
}

/// Formats a table, with a sum unless there is one process; or a JSON document.
pub fn totals(all: &[Totals], warnings: &[String], json: bool) -> String {
    if json {
        let head = Head {
            warnings: warnings.to_vec(),
            ..Head::new("hugectl")
        };
        return document(&head, all);
    }
    let mut text = "     pid  resident kB       thp kB   hugetlb kB   share  name\n".to_owned();
    let mut sum = Sums::default();
    for one in all {
        text += &one.totals.line(&one.pid, &Lossy(one.name.as_bytes()));
        sum.resident += one.totals.resident;
        sum.thp += one.totals.thp;
        sum.hugetlb += one.totals.hugetlb;
    }
    if all.len() != 1 {
        text += &sum.line(&"all", &"shared pages are counted for each process");
    }
    text
}
