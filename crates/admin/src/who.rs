//! Who holds the pages of the pools, and who has them reserved.
//!
//! What is found (see [`crate::live::who`]) comes as a [`Seen`]; the account of each
//! pool is made from it without input or output. Its sums are those of the kernel,
//! or the difference is said.
//!
//! **Invariants.** What could not be looked at is named, and nobody is told to hold pages
//! that were not seen with it.

mod text;

use std::collections::{BTreeMap, BTreeSet};

use hugetools_model::PageSize;
use hugetools_model::hugetlb::pool::Pool;
use serde::Serialize;

pub use text::{are_empty, text};

/// Pages by memory node.
pub type Nodes = BTreeMap<u32, u64>;

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The pools at that moment.
    pub pools: Vec<Pool>,
    /// Files and segments.
    pub objects: Vec<Object>,
    /// Mounts that keep pages for themselves, with their device numbers.
    pub keepers: Vec<(u64, Keeper)>,
    /// Processes with pages of their own.
    pub processes: Vec<Private>,
    /// What control groups are charged with.
    pub groups: Vec<Charge>,
    /// Why something could not be looked at.
    pub unread: Vec<String>,
    /// Whether a process with huge pages was among that: it may use what seems to be
    /// used by nobody.
    pub incomplete: bool,
}

/// A file of a hugetlbfs, with a name or without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// The device number of its file system.
    pub device: u64,
    /// The size of its pages.
    pub size: PageSize,
    /// Its pages in the page cache.
    pub pages: u64,
    /// Its length in pages.
    pub length: u64,
    /// The processes that map it, or have it open.
    pub users: BTreeSet<u32>,
    /// Its pages that mappings have reserved, touched or not.
    pub promised: BTreeSet<u64>,
    /// Where the pages are that some process has mapped.
    pub nodes: Nodes,
}

/// A mount that keeps pages of the pool (`min_size`) until its files have as many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeper {
    /// Where it is.
    pub point: String,
    /// The size of its pages.
    pub size: PageSize,
    /// How many it keeps.
    pub pages: u64,
}

/// Which file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// At this path of a mount, and at another one for who is in another mount namespace.
    File {
        /// Where those have it who see the mount.
        path: String,
        /// Where this process has it.
        here: String,
    },
    /// At no path any more, or never at one.
    Nameless(String),
    /// System V shared memory of this number, and by how many it is attached.
    Segment(u64, u64),
}

/// Pages of one size of one process, which no file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Private {
    /// The process.
    pub pid: u32,
    /// Its program.
    pub name: String,
    /// The size of the pages.
    pub size: PageSize,
    /// Pages that are there.
    pub pages: u64,
    /// Pages that are reserved, and not there yet.
    pub reserved: u64,
    /// Where the pages are.
    pub nodes: Nodes,
}

/// What a control group, without those below it, is charged with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Charge {
    /// Its directory.
    pub path: String,
    /// The size of the pages, in bytes.
    pub size: PageSize,
    /// How many.
    pub pages: u64,
}

/// The account of one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolAccount {
    /// The size of its pages, in bytes.
    pub size: PageSize,
    /// All its pages.
    pub total: u64,
    /// Those that nobody uses.
    pub free: u64,
    /// Those of the free ones that are promised.
    pub reserved: u64,
    /// Those above the minimum.
    pub surplus: u64,
    /// Who has them.
    #[serde(flatten)]
    pub held: Held,
}

/// Who has the pages of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Each of them, the most pages first, and then those that have some reserved.
    pub holders: Vec<Holder>,
    /// Pages in use that none of the holders has; negative where holders have more.
    pub unaccounted: i64,
    /// Reserved pages likewise.
    pub unaccounted_reserved: i64,
    /// What control groups are charged with.
    pub groups: Vec<Charge>,
}

/// Who has pages of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// `process`, `file`, `shm`; `reservation`: pages that nobody has touched yet;
    /// `mount`: pages that a mount keeps for its files.
    pub kind: &'static str,
    /// The process, where there is one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The processes that map a file, or have it open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// The file, or the program of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The number of a System V segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// How many pages.
    pub pages: u64,
    /// On which nodes they are, as far as can be told.
    pub nodes: Nodes,
    /// What frees the pages of an orphan: a file or segment that no process uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Object {
    /// Pages that are promised, and not there yet: by mappings, or up to the end of
    /// the file.
    fn reserved(&self, kept: Kept) -> u64 {
        let by_file = match kept {
            Kept::Mappings => false,
            Kept::UnmappedFiles => self.promised.is_empty(),
            Kept::Files => true,
        };
        let promised = self.promised.len() as u64;
        let promised = match by_file {
            true => promised.max(self.length),
            false => promised,
        };
        promised.saturating_sub(self.pages)
    }

    fn is_orphan(&self) -> bool {
        match self.kind {
            Kind::Segment(_, attachers) => attachers == 0 && self.users.is_empty(),
            _ => self.users.is_empty(),
        }
    }

    fn holder(&self, incomplete: bool) -> Holder {
        let (kind, path, id) = match &self.kind {
            Kind::File { path, .. } | Kind::Nameless(path) => ("file", Some(path.clone()), None),
            Kind::Segment(id, _) => ("shm", None, Some(*id)),
        };
        let command = match &self.kind {
            _ if incomplete || !self.is_orphan() => None,
            Kind::File { here, .. } => Some(format!("rm {}", crate::plan::shell::quote_text(here))),
            Kind::Segment(id, _) => Some(format!("ipcrm -m {id}")),
            Kind::Nameless(_) => None,
        };
        Holder {
            kind,
            pid: None,
            pids: self.users.iter().copied().collect(),
            path,
            id,
            pages: self.pages,
            nodes: self.nodes.clone(),
            command,
        }
    }
}

impl Private {
    fn holder(&self) -> Holder {
        Holder {
            kind: "process",
            pid: Some(self.pid),
            pids: Vec::new(),
            path: Some(self.name.clone()),
            id: None,
            pages: self.pages,
            nodes: self.nodes.clone(),
            command: None,
        }
    }
}

/// Who keeps what is promised. A file keeps what a mapping of it had reserved, when
/// that is gone; the kernel tells of no file whether it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Only mappings do.
    Mappings,
    /// Files do that nobody has mapped.
    UnmappedFiles,
    /// All files do.
    Files,
}

/// The rule that explains what is reserved, or else the first.
fn kept(reserved: u64, sum: impl Fn(Kept) -> u64) -> Kept {
    let rules = [Kept::Files, Kept::UnmappedFiles];
    let fits = rules.into_iter().find(|rule| sum(*rule) == reserved);
    fits.unwrap_or(Kept::Mappings)
}

impl Keeper {
    /// What its files have not taken of it.
    fn holder<'s>(
        &self,
        device: u64,
        objects: impl Iterator<Item = &'s Object>,
        kept: Kept,
    ) -> Holder {
        let of_it = objects.filter(|object| object.device == device);
        let taken: u64 = of_it.map(|it| it.pages + it.reserved(kept)).sum();
        Holder {
            kind: "mount",
            pid: None,
            pids: Vec::new(),
            path: Some(self.point.clone()),
            id: None,
            pages: self.pages.saturating_sub(taken),
            nodes: Nodes::new(),
            command: None,
        }
    }
}

/// The same holder, of pages that are only promised.
fn reservation(holder: Holder, pages: u64) -> Holder {
    Holder {
        kind: "reservation",
        pages,
        nodes: Nodes::new(),
        ..holder
    }
}

impl Holder {
    /// Whether nobody has touched its pages yet.
    fn is_reserved(&self) -> bool {
        matches!(self.kind, "reservation" | "mount")
    }
}

/// The account of each pool.
pub fn account(seen: &Seen) -> Vec<PoolAccount> {
    let of_pool = |pool: &Pool| {
        let objects = seen.objects.iter().filter(|it| it.size == pool.size);
        let processes = seen.processes.iter().filter(|it| it.size == pool.size);
        let mut holders: Vec<Holder> = (processes.clone().map(Private::holder))
            .chain(objects.clone().map(|it| it.holder(seen.incomplete)))
            .collect();
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.pages));
        let promised = |kept: Kept| -> Vec<Holder> {
            let keepers = seen.keepers.iter().filter(|(_, it)| it.size == pool.size);
            let of_processes = processes
                .clone()
                .map(|it| reservation(it.holder(), it.reserved));
            let of_objects = (objects.clone())
                .map(|it| reservation(it.holder(seen.incomplete), it.reserved(kept)));
            let of_mounts = keepers.map(|(device, it)| it.holder(*device, objects.clone(), kept));
            of_processes.chain(of_objects).chain(of_mounts).collect()
        };
        let sum = |kept| promised(kept).iter().map(|holder| holder.pages).sum();
        holders.extend(promised(kept(pool.reserved.get(), sum)));
        holders.retain(|holder| holder.pages > 0);
        let sum = |reserved: bool| -> u64 {
            let those = holders.iter();
            let those = those.filter(|it| it.is_reserved() == reserved);
            those.map(|it| it.pages).sum()
        };
        let used = pool.total.get().saturating_sub(pool.free.get());
        PoolAccount {
            size: pool.size,
            total: pool.total.get(),
            free: pool.free.get(),
            reserved: pool.reserved.get(),
            surplus: pool.surplus.get(),
            held: Held {
                unaccounted: less(used, sum(false)),
                unaccounted_reserved: less(pool.reserved.get(), sum(true)),
                holders,
                groups: (seen.groups.iter().filter(|it| it.size == pool.size))
                    .cloned()
                    .collect(),
            },
        }
    };
    seen.pools.iter().map(of_pool).collect()
}

fn less(all: u64, known: u64) -> i64 {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    number(all) - number(known)
}
