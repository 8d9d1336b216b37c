//! A process's huge pages, as one line of JSON or as a table.
//!
//! ```json
//! {"tool":"hugectl","version":"0.1.0","schema":1,"status":0,"errors":[],"warnings":[],
//!  "pid":1,"exe":"/usr/bin/x","name":"x","host":"n1","rank":null,"parent":7,"segments":[{"segment":"heap","object":null,"mapped":0,"resident":0,"huge":{"2097152":0},"mechanism":"hugetlb","reason":null}]}
//! ```
//!
//! The documents of all tools begin with the first six fields. `mapped`, `resident` and
//! the values of `huge` are bytes; the keys of `huge` are page sizes in bytes.
//! `mechanism` is `hugetlb`, `thp`, `file` (huge pages of the page cache), several of
//! them joined by `+`, or null. Optional are `folios` (resident bytes by folio size),
//! `required`, `next_touch`, and for a process that has ended the fields of [`Life`].

mod life;
mod next_touch;
mod origin;
pub mod reasons;
mod required;

use core::fmt::{self, Write};

pub use self::life::{Ended, Life, Peak};
pub use self::next_touch::NextTouch;
pub use self::origin::{Origin, rank};
pub use self::required::Met;

use hugetools_kernfs::size_name::SizeName;

use crate::segment::{ALL, Huge, Row};

/// The report of one process.
#[derive(Debug, Clone, Copy)]
pub struct Proof<'a> {
    /// The process.
    pub pid: u32,
    /// Its executable.
    pub exe: &'a [u8],
    /// Its name: the base name of the link or script that was started, unless it has set another.
    pub name: &'a [u8],
    /// Its host, rank and parent.
    pub origin: Origin<'a>,
    /// Its memory by segment.
    pub rows: &'a [Row<'a>],
    /// The requirements on it.
    pub required: &'a [Met],
    /// Memory moved to the threads that touched it.
    pub next_touch: Option<NextTouch>,
    /// A problem of the process as a whole.
    pub warning: Option<&'a str>,
    /// Its lifetime, if it has ended.
    pub life: Option<Life>,
}

impl Proof<'_> {
    /// Writes one line of JSON.
    pub fn write_json(&self, out: &mut impl Write) -> fmt::Result {
        write_head(out, self.warning.map(str::as_bytes).into_iter())?;
        out.write_char(',')?;
        self.write_body(out)?;
        out.write_str("}\n")
    }

    /// Writes the fields of the process, without the head.
    pub fn write_body(&self, out: &mut impl Write) -> fmt::Result {
        write!(out, "\"pid\":{},\"exe\":", self.pid)?;
        write_string(out, self.exe)?;
        out.write_str(",\"name\":")?;
        write_string(out, self.name)?;
        out.write_char(',')?;
        self.origin.write_json(out)?;
        out.write_str(",\"segments\":[")?;
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                out.write_char(',')?;
            }
            write_row(out, row)?;
        }
        out.write_char(']')?;
        required::write_json(self.required, out)?;
        if let Some(moved) = &self.next_touch {
            moved.write_json(out)?;
        }
        match &self.life {
            None => Ok(()),
            Some(life) => {
                out.write_char(',')?;
                life.write_json(out)
            }
        }
    }

    /// Writes a table: one line per segment, summed over its objects.
    pub fn write_table(&self, out: &mut impl Write) -> fmt::Result {
        let exe = Lossy(self.exe);
        match is_name_of(self.name, self.exe) {
            true => write!(out, "{exe}, process {}", self.pid)?,
            false => write!(out, "{} ({exe}), process {}", Lossy(self.name), self.pid)?,
        }
        self.origin.write_words(out)?;
        if let (true, Some(life), Some(why)) = (self.rows.is_empty(), &self.life, self.warning) {
            // No figures are known: a table of zeros would be wrong.
            out.write_str(": ")?;
            life.write_ended(out)?;
            writeln!(out, "; {why}")?;
            return required::write_line(self.required, out);
        }
        let peak = self.life.map(|life| life.peak);
        if peak.is_some_and(|peak| peak.is_above(self.rows)) {
            out.write_str("; segments as of its end")?;
        }
        out.write_char('\n')?;
        writeln!(
            out,
            "segment    mapped kB  resident kB      huge kB   share  pages"
        )?;
        for segment in ALL {
            let mut sum: Option<Row<'_>> = None;
            for row in self.rows.iter().filter(|row| row.segment == segment) {
                match &mut sum {
                    None => sum = Some(*row),
                    Some(sum) => sum.add(row),
                }
            }
            if let Some(sum) = sum {
                write_line(out, &sum)?;
            }
        }
        if let Some(peak) = peak {
            peak.write_line(out)?;
        }
        required::write_line(self.required, out)?;
        if let Some(moved) = &self.next_touch {
            moved.write_line(out)?;
        }
        match &self.life {
            None => Ok(()),
            Some(life) => life.write_line(out),
        }
    }
}

/// Writes the head of a document, up to the end of its warnings.
pub fn write_head<'a>(
    out: &mut impl Write,
    warnings: impl Iterator<Item = &'a [u8]>,
) -> fmt::Result {
    let version = env!("CARGO_PKG_VERSION");
    write!(
        out,
        "{{\"tool\":\"hugectl\",\"version\":\"{version}\",\"schema\":1,\"status\":0,\
         \"errors\":[],\"warnings\":["
    )?;
    for (index, warning) in warnings.enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        write_string(out, warning)?;
    }
    out.write_char(']')
}

/// Returns the base name of a file, which also names a process without a name of its own.
pub fn base(exe: &[u8]) -> &[u8] {
    exe.rsplit(|byte| *byte == b'/').next().unwrap_or(exe)
}

/// Whether a file is a shell, which mostly runs other programs.
pub fn is_shell(exe: &[u8]) -> bool {
    const SHELLS: &[&[u8]] = &[b"sh", b"dash", b"bash", b"ash", b"ksh", b"zsh", b"busybox"];
    SHELLS.contains(&base(exe))
}

/// Whether a name is the start of the file's name: the kernel truncates long names, and file names
/// may end in a version.
fn is_name_of(name: &[u8], exe: &[u8]) -> bool {
    base(exe).starts_with(name)
}

fn write_line(out: &mut impl Write, row: &Row<'_>) -> fmt::Result {
    let huge = row.huge_bytes();
    write!(
        out,
        "{:<8} {:>11} {:>12} {:>12}  {:>5}%  ",
        row.segment.name(),
        row.mapped / 1024,
        row.resident / 1024,
        huge / 1024,
        Tenths::of(huge, row.resident),
    )?;
    if huge == 0 {
        out.write_char('-')?;
    }
    for (index, huge) in row.huge.iter().filter(|huge| huge.bytes > 0).enumerate() {
        write!(
            out,
            "{}{}",
            if index > 0 { "," } else { "" },
            SizeName(huge.page_size)
        )?;
    }
    if huge > 0 {
        write!(out, " {}", Mechanism(row))?;
    }
    if let Some(reason) = row.reason {
        write!(out, "  ({reason})")?;
    }
    out.write_char('\n')
}

/// A percentage with one decimal, rounded down: 100.0 means all.
pub struct Tenths(u64);

impl Tenths {
    /// Returns the percentage that `part` is of `whole`; 0 if `whole` is 0.
    pub fn of(part: u64, whole: u64) -> Tenths {
        let tenths = (u128::from(part) * 1000).checked_div(u128::from(whole));
        Tenths(u64::try_from(tenths.unwrap_or(0)).unwrap_or(0))
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = f.width().unwrap_or(0).saturating_sub(2);
        write!(f, "{:>width$}.{}", self.0 / 10, self.0 % 10)
    }
}

fn write_row(out: &mut impl Write, row: &Row<'_>) -> fmt::Result {
    write!(out, "{{\"segment\":\"{}\",\"object\":", row.segment.name())?;
    write_optional(out, row.object)?;
    let (mapped, resident) = (row.mapped, row.resident);
    write!(
        out,
        ",\"mapped\":{mapped},\"resident\":{resident},\"huge\":"
    )?;
    write_sizes(out, &row.huge)?;
    out.write_str(",\"mechanism\":")?;
    match row.huge_bytes() {
        0 => out.write_str("null")?,
        _ => write!(out, "\"{}\"", Mechanism(row))?,
    }
    out.write_str(",\"reason\":")?;
    write_optional(out, row.reason.map(str::as_bytes))?;
    if let Some(folios) = row.folios {
        out.write_str(",\"folios\":")?;
        write_sizes(out, folios)?;
    }
    out.write_char('}')
}

/// Writes an object of bytes by page size.
fn write_sizes(out: &mut impl Write, sizes: &[Huge]) -> fmt::Result {
    let mut before = '{';
    for huge in sizes.iter().filter(|huge| huge.bytes > 0) {
        write!(out, "{before}\"{}\":{}", huge.page_size, huge.bytes)?;
        before = ',';
    }
    out.write_str(if before == '{' { "{}" } else { "}" })
}

/// Writes a JSON string or null.
fn write_optional(out: &mut impl Write, bytes: Option<&[u8]>) -> fmt::Result {
    match bytes {
        Some(bytes) => write_string(out, bytes),
        None => out.write_str("null"),
    }
}

/// Writes a JSON string. Invalid UTF-8 becomes U+FFFD.
pub fn write_string(out: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    out.write_char('"')?;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.write_str("\\\"")?,
                '\\' => out.write_str("\\\\")?,
                c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c))?,
                c => out.write_char(c)?,
            }
        }
        if !chunk.invalid().is_empty() {
            out.write_char('\u{fffd}')?;
        }
    }
    out.write_char('"')
}

/// Bytes for a terminal. Control characters and invalid UTF-8 become U+FFFD.
#[derive(Debug, Clone, Copy)]
pub struct Lossy<'a>(pub &'a [u8]);

impl fmt::Display for Lossy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for c in chunk.valid().chars() {
                f.write_char(if c.is_control() { '\u{fffd}' } else { c })?;
            }
            if !chunk.invalid().is_empty() {
                f.write_char('\u{fffd}')?;
            }
        }
        Ok(())
    }
}

struct Mechanism<'a>(&'a Row<'a>);

impl fmt::Display for Mechanism<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.0;
        let all = [
            ("hugetlb", row.hugetlb),
            ("thp", row.thp),
            ("file", row.file),
        ];
        let mut found = all.iter().filter(|(_, bytes)| *bytes > 0);
        if let Some((name, _)) = found.next() {
            f.write_str(name)?;
        }
        found.try_for_each(|(name, _)| write!(f, "+{name}"))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::segment::Segment;
    use std::string::String;

    fn heap() -> Row<'static> {
        let mut row = Row::EMPTY;
        row.segment = Segment::Heap;
        row.mapped = 600 << 20;
        row.resident = 500 << 20;
        row.huge[0] = Huge {
            page_size: 2 << 20,
            bytes: 498 << 20,
        };
        row.hugetlb = 40 << 20;
        row.thp = 458 << 20;
        row.reason = Some("the pool of 2MB pages has no page left");
        row
    }

    #[test]
    fn json_is_one_line_of_the_documented_schema() {
        let mut out = String::new();
        let rows = [heap()];
        let proof = Proof {
            pid: 42,
            exe: b"/tmp/a\"\xff\n",
            name: b"a",
            origin: Origin {
                host: Some(b"n\"1"),
                rank: Some(3),
                parent: None,
            },
            rows: &rows,
            required: &[],
            next_touch: None,
            warning: Some("it is \"odd\""),
            life: None,
        };
        proof.write_json(&mut out).unwrap();
        let head = std::format!(
            "{{\"tool\":\"hugectl\",\"version\":\"{}\",\"schema\":1,\"status\":0,\"errors\":[],\
             \"warnings\":[\"it is \\\"odd\\\"\"],",
            env!("CARGO_PKG_VERSION")
        );
        let rest = out.strip_prefix(&head).unwrap();
        assert_eq!(
            rest,
            "\"pid\":42,\"exe\":\"/tmp/a\\\"\u{fffd}\\u000a\",\"name\":\"a\",\
             \"host\":\"n\\\"1\",\"rank\":3,\"parent\":null,\"segments\":[{\"segment\":\"heap\",\
             \"object\":null,\"mapped\":629145600,\"resident\":524288000,\
             \"huge\":{\"2097152\":522190848},\"mechanism\":\"hugetlb+thp\",\
             \"reason\":\"the pool of 2MB pages has no page left\"}]}\n"
        );
    }

    #[test]
    fn all_but_one_byte_is_not_all() {
        let tenths = |part, whole| std::format!("{:>6}", Tenths::of(part, whole));
        assert_eq!(tenths((1 << 40) - 1, 1 << 40), "  99.9");
        assert_eq!(tenths(1 << 40, 1 << 40), " 100.0");
        assert_eq!(tenths(5, 0), "   0.0");
    }

    #[test]
    fn an_unseen_process_has_no_figures() {
        let life = Life {
            ended: Ended::Exit(Some(3)),
            start: 7,
            end: 7,
            seen: 7,
            peak: Peak::default(),
        };
        let proof = Proof {
            pid: 12,
            exe: b"?",
            name: b"?",
            origin: Origin::default(),
            rows: &[],
            required: &[],
            next_touch: None,
            warning: Some("it could not be looked at"),
            life: Some(life),
        };
        let mut table = String::new();
        proof.write_table(&mut table).unwrap();
        assert_eq!(
            table,
            "?, process 12: ended with status 3; it could not be looked at\n"
        );
    }

    #[test]
    fn the_table_adds_up_the_objects_of_a_segment() {
        let mut text = Row::EMPTY;
        text.segment = Segment::Text;
        (text.object, text.mapped, text.resident) = (Some(&b"/bin/x"[..]), 8192, 4096);
        let mut library = text;
        library.object = Some(&b"/lib/y"[..]);
        let rows = [heap(), text, library];
        let mut out = String::new();
        let proof = Proof {
            pid: 42,
            exe: b"/bin/x",
            name: b"x",
            origin: Origin::default(),
            rows: &rows,
            required: &[],
            next_touch: None,
            warning: None,
            life: None,
        };
        proof.write_table(&mut out).unwrap();
        let mut other = String::new();
        let linked = Proof {
            name: b"y",
            origin: Origin {
                host: Some(b"node7"),
                rank: Some(0),
                parent: Some(9),
            },
            ..proof
        };
        linked.write_table(&mut other).unwrap();
        let head = "y (/bin/x), process 42, rank 0 on node7\n";
        assert!(other.starts_with(head), "{other}");
        assert_eq!(
            out,
            "/bin/x, process 42\n\
             segment    mapped kB  resident kB      huge kB   share  pages\n\
             text              16            8            0    0.0%  -\n\
             heap          614400       512000       509952   99.6%  2MB hugetlb+thp  \
             (the pool of 2MB pages has no page left)\n"
        );
    }
}
