//! The kernel's huge page state, read once into values.
//!
//! | kernel file | type |
//! |---|---|
//! | `/proc/meminfo`, `/sys/devices/system/node/node*/meminfo` | [`meminfo::Meminfo`] |
//! | `/sys/kernel/mm/hugepages/*`, `/proc/sys/vm/nr_*hugepages*` | [`pool::Pool`] |
//! | `/sys/devices/system/node/*` | [`node::Node`] |
//! | `/sys/kernel/mm/transparent_hugepage/*` | [`thp::Thp`], [`thp::ThpSettings`], [`thp::stats`] |
//! | `/proc/self/mountinfo`, `/proc/mounts` | [`mount::Mount`] |
//! | `/proc/sys/vm/*`, `/proc/sys/kernel/shm*` | [`sysctl::Sysctl`] |
//! | `/dev/userfaultfd`, `/proc/sys/vm/unprivileged_userfaultfd` | [`userfault::UserFault`] |
//! | `/proc/buddyinfo`, `/proc/zoneinfo` | [`zone`] |
//! | `/proc/buddyinfo`, `/proc/pagetypeinfo` | [`buddy`] |
//! | `/proc/vmstat`, `/proc/uptime` | [`vmstat`] |
//! | `/proc/swaps`, `/sys/block/ram*` | [`swap`] |
//! | `/proc/<pid>/smaps`, `auxv`, `environ`, `status` | [`process`] |
//! | `/proc/<pid>/pagemap`, `/proc/kpageflags` | [`folio`] |
//! | `/proc/<pid>/cgroup`, `hugetlb.*` in its control groups | [`cgroup`] |
//!
//! [`parse`] are the files that the crate procfs reads.
//!
//! [`seconds`] are a time, as options take it. [`head`] is what the documents of all tools begin with.
//!
//! Text that the libraries read, too, is parsed by `kernfs`, such as [`smaps`] and lines of
//! a name and a value ([`keyed`]).
//!
//! Parsers take bytes and know no path; [`root::Root`] is the only module that
//! opens a kernel file. Nothing here prints or decides.
//!
//! With the feature `fixture`, for tests: `fixture` reads recorded machines,
//! `sim` is a kernel that answers what is written.

pub mod buddy;
pub mod cgroup;
pub mod error;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod folio;
pub mod head;
pub mod kpath;
pub mod list;
pub mod machine;
pub mod meminfo;
pub mod mount;
pub mod node;
pub mod parse;
pub mod pool;
pub mod process;
pub mod root;
pub mod seconds;
#[cfg(any(test, feature = "fixture"))]
pub mod sim;
pub mod size;
pub mod swap;
pub mod sysctl;
pub mod thp;
pub mod userfault;
pub mod vmstat;
pub mod zone;

pub use error::FileError;
pub use head::Head;
pub use hugetools_kernfs::{choice, keyed, mountinfo, smaps};
pub use kpath::KPath;
pub use machine::Machine;
pub use root::Root;
pub use size::{Bytes, PageCount, PageSize};
