//! `--who`: users of the pools' pages and reservations.
//!
//! [`crate::live::who`] scans the machine into a [`Snapshot`]. The account of each pool is computed
//! from it without I/O. Its sums match the kernel's counters, or the difference is reported.
//!
//! **Invariants.** Unreadable objects are reported. A page counts only for users seen with it.

mod text;

use std::collections::BTreeSet;

use hugetools_model::PageSize;
use hugetools_model::hugetlb::pool::Pool;
use serde::Serialize;

use crate::listing::PoolRow;

pub use text::text;

/// The result of a scan.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The pools during the scan.
    pub pools: Vec<Pool>,
    /// Files and shared memory segments.
    pub objects: Vec<Object>,
    /// Processes with private pages.
    pub processes: Vec<Private>,
    /// Objects that could not be read, and why.
    pub unread: Vec<String>,
    /// Whether processes are hidden, or one with huge pages could not be read. They may use objects
    /// that appear unused.
    pub incomplete: bool,
}

/// A file on hugetlbfs, possibly without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its kind.
    pub kind: Kind,
    /// The page size.
    pub size: PageSize,
    /// Its pages in the page cache.
    pub pages: u64,
    /// Its length in pages.
    pub length: u64,
    /// Processes that map it or have it open.
    pub users: BTreeSet<u32>,
    /// Indexes of pages that mappings reserved, whether touched or not.
    pub reserved_indexes: BTreeSet<u64>,
}

/// The kind of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A file with this path on a mount.
    File(String),
    /// A file without a path: deleted or never linked.
    Nameless(String),
    /// A System V segment: its id, and the number of attachments.
    Segment(u64, u64),
}

/// Private pages of one size in one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Private {
    /// The process.
    pub pid: u32,
    /// The path of its program.
    pub name: String,
    /// The page size.
    pub size: PageSize,
    /// Present pages.
    pub pages: u64,
    /// Pages reserved but not yet present.
    pub reserved: u64,
}

/// The account of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolAccount {
    /// Its figures.
    #[serde(flatten)]
    pub row: PoolRow,
    /// All pages.
    pub total: u64,
    /// The users with most pages first, then reservations.
    pub holders: Vec<Holder>,
    /// Pages in use without a known user; negative if users have more than the kernel counts.
    pub unaccounted: i64,
    /// The same for reserved pages.
    pub unaccounted_reserved: i64,
}

/// A user of pages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Holder {
    /// `process`, `file`, `shm`; `reservation`: reserved pages that were never touched.
    pub kind: &'static str,
    /// The process of private pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Processes that map a file or have it open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// The file, or the program of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The id of a System V segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The number of pages.
    pub pages: u64,
    /// A command that frees the pages of a file or segment that no process uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Whether a name with this character cannot be copied from a terminal: a control character, or
/// what was not UTF-8.
fn is_unprintable(c: char) -> bool {
    c.is_control() || c == char::REPLACEMENT_CHARACTER
}

impl Object {
    /// Returns the pages reserved but not present. Reservations outlive mappings: in a file without
    /// mappings that reserve pages, all pages up to its end count as reserved.
    fn reserved(&self) -> u64 {
        let reserved = match self.reserved_indexes.len() as u64 {
            0 => self.length,
            reserved => reserved,
        };
        reserved.saturating_sub(self.pages)
    }

    fn is_orphan(&self) -> bool {
        match self.kind {
            Kind::Segment(_, attachers) => attachers == 0 && self.users.is_empty(),
            _ => self.users.is_empty(),
        }
    }

    fn holder(&self, incomplete: bool) -> Holder {
        let (kind, path, id) = match &self.kind {
            Kind::File(path) | Kind::Nameless(path) => ("file", Some(path.clone()), None),
            Kind::Segment(id, _) => ("shm", None, Some(*id)),
        };
        let command = match &self.kind {
            _ if incomplete || !self.is_orphan() => None,
            Kind::File(path) if path.contains(is_unprintable) => None,
            Kind::File(path) => Some(format!("rm {}", crate::plan::shell::quote_text(path))),
            Kind::Segment(id, _) => Some(format!("ipcrm -m {id}")),
            Kind::Nameless(_) => None,
        };
        Holder {
            kind,
            pids: self.users.iter().copied().collect(),
            path,
            id,
            pages: self.pages,
            command,
            ..Holder::default()
        }
    }
}

impl Private {
    fn holder(&self) -> Holder {
        Holder {
            kind: "process",
            pid: Some(self.pid),
            path: Some(self.name.clone()),
            pages: self.pages,
            ..Holder::default()
        }
    }
}

/// Returns the same user with reserved pages instead.
fn reservation(holder: Holder, pages: u64) -> Holder {
    Holder {
        kind: "reservation",
        pages,
        ..holder
    }
}

impl Holder {
    /// Whether its pages are only reserved.
    fn is_reserved(&self) -> bool {
        self.kind == "reservation"
    }
}

/// Computes the account of each pool.
pub fn account(seen: &Snapshot) -> Vec<PoolAccount> {
    let of_pool = |pool: &Pool| {
        let objects = seen.objects.iter().filter(|it| it.size == pool.size);
        let processes = seen.processes.iter().filter(|it| it.size == pool.size);
        let mut holders: Vec<Holder> = (processes.clone().map(Private::holder))
            .chain(objects.clone().map(|it| it.holder(seen.incomplete)))
            .collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.pages));
        let of_processes = processes.map(|it| reservation(it.holder(), it.reserved));
        let of_objects = objects.map(|it| reservation(it.holder(seen.incomplete), it.reserved()));
        holders.extend(of_processes.chain(of_objects));
        holders.retain(|holder| holder.pages > 0);
        let sum = |reserved: bool| -> u64 {
            let those = holders.iter();
            let those = those.filter(|it| it.is_reserved() == reserved);
            those.map(|it| it.pages).sum()
        };
        let used = pool.total.get().saturating_sub(pool.free.get());
        PoolAccount {
            row: pool.into(),
            total: pool.total.get(),
            unaccounted: difference(used, sum(false)),
            unaccounted_reserved: difference(pool.reserved.get(), sum(true)),
            holders,
        }
    };
    seen.pools.iter().map(of_pool).collect()
}

fn difference(all: u64, known: u64) -> i64 {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    number(all) - number(known)
}
