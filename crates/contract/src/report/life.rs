//! A process's lifetime, its end and its peak memory.

use core::fmt::{self, Write};

use super::format::{Tenths, write_sizes};
use crate::segment::{Huge, Row};

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It exited, with this status if it is known.
    Exit(Option<i32>),
    /// A signal ended it.
    Signal {
        /// The signal's number.
        number: i32,
        /// Its name, such as `SIGKILL`, if it has one.
        name: Option<&'static str>,
        /// Whether it is SIGKILL, and the OOM killer has killed any process since the second to
        /// last sample of this one.
        out_of_memory: bool,
    },
}

/// The maximum of each figure in the samples of a process's memory. Between two samples it may have
/// been higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peak {
    /// Resident bytes, pool pages included.
    pub resident: u64,
    /// Bytes on huge pages of each size.
    pub huge: [Huge; 4],
    /// When the resident memory was highest, in milliseconds since 1970.
    pub at: u64,
}

impl Peak {
    /// Returns the memory of a report's rows, sampled at `at`.
    pub fn of(rows: &[Row<'_>], at: u64) -> Peak {
        let mut all = Row::EMPTY;
        rows.iter().for_each(|row| all.add(row));
        Peak {
            resident: all.resident,
            huge: all.huge,
            at,
        }
    }

    /// Returns the maximum of both peaks.
    #[must_use]
    pub fn with(mut self, other: &Peak) -> Peak {
        if other.resident > self.resident {
            (self.resident, self.at) = (other.resident, other.at);
        }
        for huge in other.huge.iter().filter(|huge| huge.bytes > 0) {
            let mut places = self.huge.iter_mut();
            let same = |place: &&mut Huge| [0, huge.page_size].contains(&place.page_size);
            if let Some(place) = places.find(same) {
                place.page_size = huge.page_size;
                place.bytes = place.bytes.max(huge.bytes);
            }
        }
        self
    }

    /// Whether the process had over 1 % more on huge pages, or resident, than these rows.
    pub(super) fn is_above(&self, rows: &[Row<'_>]) -> bool {
        let end = Peak::of(rows, 0);
        let is_more = |peak: u64, end: u64| end < peak / 100 * 99;
        is_more(self.resident, end.resident) || is_more(self.huge_bytes(), end.huge_bytes())
    }

    /// Writes it as a row of the table.
    pub(super) fn write_line(&self, out: &mut impl Write) -> fmt::Result {
        // The maxima of two page sizes may be from different samples.
        let (resident, huge) = (self.resident, self.huge_bytes().min(self.resident));
        let share = Tenths::of(huge, resident);
        let (resident, huge) = (resident / 1024, huge / 1024);
        writeln!(
            out,
            "{:<8} {:>11} {resident:>12} {huge:>12}  {share:>5}%",
            "peak", "-"
        )
    }

    /// Returns the bytes on huge pages of all sizes.
    pub(super) fn huge_bytes(&self) -> u64 {
        self.huge.iter().map(|huge| huge.bytes).sum()
    }
}

/// The lifetime of a process that has ended. Times are milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// How it ended.
    pub ended: Ended,
    /// When it was forked.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// When its memory was last sampled, at the end or before.
    pub seen: u64,
    /// Its peak memory.
    pub peak: Peak,
}

impl Life {
    /// Writes the fields of a JSON object.
    pub(super) fn write_json(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str("\"ended\":{\"how\":")?;
        match self.ended {
            Ended::Exit(Some(status)) => write!(out, "\"exit\",\"value\":{status}")?,
            Ended::Exit(None) => out.write_str("\"exit\",\"value\":null")?,
            Ended::Signal {
                number,
                out_of_memory,
                ..
            } => write!(
                out,
                "\"signal\",\"value\":{number},\"out_of_memory\":{out_of_memory}"
            )?,
        }
        let (start, end, seen) = (Time(self.start), Time(self.end), Time(self.seen));
        let Peak { resident, huge, at } = &self.peak;
        write!(
            out,
            "}},\"start\":{start},\"end\":{end},\"seen\":{seen},\"peak\":{{\"resident\":{resident},\"huge\":"
        )?;
        write_sizes(out, huge)?;
        write!(out, ",\"at\":{}}}", Time(*at))
    }

    /// Writes how the process ended.
    pub(super) fn write_ended(&self, out: &mut impl Write) -> fmt::Result {
        match self.ended {
            Ended::Exit(Some(status)) => write!(out, "ended with status {status}")?,
            Ended::Exit(None) => out.write_str("ended")?,
            Ended::Signal {
                number,
                name,
                out_of_memory,
            } => {
                write!(out, "ended by signal {number}")?;
                if let Some(name) = name {
                    write!(out, " ({name})")?;
                }
                if out_of_memory {
                    out.write_str(", while the kernel was out of memory")?;
                }
            }
        }
        Ok(())
    }

    /// Writes the lifetime as one line of text.
    pub(super) fn write_line(&self, out: &mut impl Write) -> fmt::Result {
        self.write_ended(out)?;
        let time = |from: u64, to: u64| Time(to.saturating_sub(from));
        write!(out, " after {} s", time(self.start, self.end))?;
        if self.seen < self.end {
            write!(out, ", last seen {} s before", time(self.seen, self.end))?;
        }
        out.write_char('\n')
    }
}

/// Milliseconds, written as seconds.
struct Time(u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::String;

    fn life(ended: Ended) -> Life {
        let mut row = Row::EMPTY;
        (row.resident, row.huge[0].page_size, row.huge[0].bytes) = (8 << 20, 2 << 20, 6 << 20);
        Life {
            ended,
            start: 1000,
            end: 3250,
            seen: 3250,
            peak: Peak::of(&[row], 2000),
        }
    }

    #[test]
    fn the_line() {
        let line = |life: Life| {
            let mut out = String::new();
            life.write_line(&mut out).unwrap();
            out
        };
        assert_eq!(
            line(life(Ended::Exit(Some(3)))),
            "ended with status 3 after 2.250 s\n"
        );
        let killed = Ended::Signal {
            number: 9,
            name: Some("SIGKILL"),
            out_of_memory: true,
        };
        let seen = Life {
            seen: 3000,
            ..life(killed)
        };
        assert_eq!(
            line(seen),
            "ended by signal 9 (SIGKILL), while the kernel was out of memory after 2.250 s, last seen \
             0.250 s before\n"
        );
    }

    #[test]
    fn the_row_of_the_peak() {
        let peak = life(Ended::Exit(None)).peak;
        let mut out = String::new();
        peak.write_line(&mut out).unwrap();
        assert_eq!(
            out,
            "peak               -         8192         6144   75.0%\n"
        );
        let mut end = Row::EMPTY;
        (end.resident, end.huge[0].bytes) = (8 << 20, 6 << 20);
        assert!(!peak.is_above(&[end]));
        end.huge[0].bytes = 0;
        assert!(peak.is_above(&[end]) && peak.is_above(&[]));
    }

    #[test]
    fn peaks_are_merged_by_maximum() {
        let one = life(Ended::Exit(None)).peak;
        let mut other = one;
        (other.resident, other.at, other.huge[0].bytes) = (9 << 20, 3000, 4 << 20);
        let most = one.with(&other);
        assert_eq!((most.resident, most.at), (9 << 20, 3000));
        assert_eq!(most.huge[0].bytes, 6 << 20);
        assert_eq!(other.with(&one), most);
    }
}
