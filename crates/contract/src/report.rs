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

mod format;
mod json;
mod life;
mod next_touch;
mod origin;
pub mod reasons;
mod required;
mod table;

pub use self::format::{Lossy, Tenths};
pub use self::json::write_head;
pub use self::life::{Ended, Life, Peak};
pub use self::next_touch::NextTouch;
pub use self::origin::{Origin, rank};
pub use self::required::Met;

use crate::segment::Row;

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
    /// A process of which nothing is known.
    pub const UNKNOWN: Proof<'static> = Proof {
        pid: 0,
        exe: b"?",
        name: b"?",
        origin: Origin {
            host: None,
            rank: None,
            parent: None,
        },
        rows: &[],
        required: &[],
        next_touch: None,
        warning: None,
        life: None,
    };
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::segment::{Huge, Segment};
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
            warning: Some("it is \"odd\""),
            ..Proof::UNKNOWN
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
            warning: Some("it could not be looked at"),
            life: Some(life),
            ..Proof::UNKNOWN
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
            rows: &rows,
            ..Proof::UNKNOWN
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
