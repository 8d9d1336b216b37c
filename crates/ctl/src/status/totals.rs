//! What a process has in all: the cheap form, for which the kernel adds up by itself
//! (`/proc/PID/smaps_rollup`, Linux 4.14) what it else prints for each mapping.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use hugetools_contract::report::{self, Lossy, Tenths, base};
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::records;
use hugetools_model::{FileError, Root};

use super::unreadable;
use crate::say::failure::Failure;

/// What a process has in all, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    pid: Pid,
    exe: Vec<u8>,
    name: Vec<u8>,
    resident: u64,
    thp: u64,
    hugetlb: u64,
}

impl Totals {
    /// Looks at a process.
    ///
    /// # Errors
    /// When there is no such process, or it may not be looked at.
    pub fn take(root: &Root, pid: Pid) -> Result<Totals, Failure> {
        let failed = |error: FileError| unreadable(root, pid, &error);
        let text = match root.read_opt(&pid.path("smaps_rollup")).map_err(failed)? {
            Some(text) => text,
            None => root.read(&pid.path("smaps")).map_err(failed)?,
        };
        if text.is_empty() {
            return Err(super::nothing(pid));
        }
        let exe = process::exe(root, pid).unwrap_or_default();
        let exe = exe.as_os_str().as_bytes().to_vec();
        let mut totals = Totals {
            pid,
            name: process::name(root, pid).unwrap_or_else(|| base(&exe).to_vec()),
            exe,
            resident: 0,
            thp: 0,
            hugetlb: 0,
        };
        for record in records(&text) {
            totals.resident += record.resident();
            totals.thp += record.thp();
            totals.hugetlb += record.hugetlb;
        }
        Ok(totals)
    }

    fn write_json(&self, out: &mut String) -> std::fmt::Result {
        write!(out, "{{\"pid\":{},\"exe\":", self.pid)?;
        report::write_string(out, &self.exe)?;
        out.push_str(",\"name\":");
        report::write_string(out, &self.name)?;
        let Totals {
            resident,
            thp,
            hugetlb,
            ..
        } = self;
        write!(
            out,
            ",\"totals\":{{\"resident\":{resident},\"thp\":{thp},\"hugetlb\":{hugetlb}}}}}"
        )
    }

    fn write_line(&self, out: &mut String) -> std::fmt::Result {
        let name = Lossy(&self.name);
        line(
            out,
            &self.pid,
            [self.resident, self.thp, self.hugetlb],
            &name,
        )
    }
}

fn line(
    out: &mut String,
    first: &dyn std::fmt::Display,
    [resident, thp, hugetlb]: [u64; 3],
    last: &dyn std::fmt::Display,
) -> std::fmt::Result {
    let share = Tenths::of(thp + hugetlb, resident);
    let [resident, thp, hugetlb] = [resident, thp, hugetlb].map(|bytes| bytes / 1024);
    let first = first.to_string();
    writeln!(
        out,
        "{first:>8} {resident:>12} {thp:>12} {hugetlb:>12}  {share:>5}%  {last}"
    )
}

/// A table with a last line for all of them, or one document of JSON.
pub fn totals(all: &[Totals], warnings: &[String], json: bool) -> String {
    let mut text = String::new();
    let written = match json {
        true => document(&mut text, all, warnings),
        false => table(&mut text, all),
    };
    debug_assert!(written.is_ok(), "a String takes everything");
    text
}

fn document(text: &mut String, all: &[Totals], warnings: &[String]) -> std::fmt::Result {
    report::write_head(text, warnings.iter().map(String::as_bytes))?;
    let mut before = ",\"processes\":[";
    for one in all {
        text.push_str(before);
        one.write_json(text)?;
        before = ",";
    }
    if all.is_empty() {
        text.push_str(before);
    }
    text.push_str("]}\n");
    Ok(())
}

fn table(text: &mut String, all: &[Totals]) -> std::fmt::Result {
    text.push_str("     pid  resident kB       thp kB   hugetlb kB   share  name\n");
    for one in all {
        one.write_line(text)?;
    }
    if all.len() == 1 {
        return Ok(());
    }
    let sum = |of: fn(&Totals) -> u64| all.iter().map(of).sum::<u64>();
    let sums = [
        sum(|one| one.resident),
        sum(|one| one.thp),
        sum(|one| one.hugetlb),
    ];
    let last = "what they share is counted for each";
    line(text, &"all", sums, &last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(pid: u32, mib: [u64; 3]) -> Totals {
        let [resident, thp, hugetlb] = mib.map(|mib| mib << 20);
        Totals {
            pid: Pid::new(pid).unwrap(),
            exe: b"/bin/x".to_vec(),
            name: b"x".to_vec(),
            resident,
            thp,
            hugetlb,
        }
    }

    #[test]
    fn the_table_adds_up() {
        let all = [one(7, [8, 2, 4]), one(1234, [8, 0, 0])];
        let text = totals(&all, &[], false);
        let expected = "     pid  resident kB       thp kB   hugetlb kB   share  name\n\
             \x20      7         8192         2048         4096   75.0%  x\n\
             \x20   1234         8192            0            0    0.0%  x\n\
             \x20    all        16384         2048         4096   37.5%  what they share is counted for each\n";
        assert_eq!(text, expected);
        assert_eq!(totals(&all[..1], &[], false).lines().count(), 2);
    }

    #[test]
    fn the_document() {
        let text = totals(&[one(7, [8, 2, 4])], &["w".to_owned()], true);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let process = &value["processes"][0];
        assert_eq!(
            (&process["pid"], &process["exe"]),
            (&7.into(), &"/bin/x".into())
        );
        let totals = &process["totals"];
        assert_eq!(totals["resident"], 8 << 20);
        assert_eq!(
            (&totals["thp"], &totals["hugetlb"]),
            (&(2 << 20).into(), &(4 << 20).into())
        );
        assert_eq!(value["warnings"][0], "w");
        let none: serde_json::Value = serde_json::from_str(&super::totals(&[], &[], true)).unwrap();
        assert_eq!(none["processes"], serde_json::json!([]));
    }
}
