//! The kernel's huge page state, read once into values.
//!
//! Modules, from the ground up; each uses only those above it in this list, and its
//! first comment states its invariants.
//!
//! | module | purpose |
//! |---|---|
//! | [`head`] | the first fields of every JSON document |
//! | [`units`] | bytes, page sizes, page counts; the kernel's lists, seconds |
//! | [`root`] | access to `/proc` and `/sys`, and its errors |
//! | [`mount`] | mounted file systems |
//! | [`memory`] | system-wide memory: counters, zones, free blocks, swap, settings |
//! | [`hugetlb`] | the huge page pools, of the machine and of its memory nodes |
//! | [`thp`] | transparent huge pages |
//! | [`process`] | a process, its control groups and its folios |
//! | [`machine`] | the whole state |
//! | `fixture` | recorded machines, for tests |
//! | `sim` | a simulated kernel, for tests |
//!
//! The parser of each kernel file:
//!
//! | kernel file | type |
//! |---|---|
//! | `/proc/meminfo`, `/sys/devices/system/node/node*/meminfo` | [`memory::meminfo::Meminfo`] |
//! | `/sys/kernel/mm/hugepages/*`, `/proc/sys/vm/nr_*hugepages*` | [`hugetlb::pool::Pool`] |
//! | `/proc/cmdline` | [`hugetlb::boot::Boot`] |
//! | `/sys/devices/system/node/*` | [`hugetlb::node::Node`] |
//! | `/sys/kernel/mm/transparent_hugepage/*` | [`thp::Thp`], [`thp::ThpSettings`], [`thp::stats`] |
//! | `/proc/self/mountinfo` | [`mount::Mount`] |
//! | `/proc/sys/vm/*`, `/proc/sys/kernel/shm*` | [`memory::sysctl::Sysctl`] |
//! | `/dev/userfaultfd`, `/proc/sys/vm/unprivileged_userfaultfd` | [`memory::userfault::UserFault`] |
//! | `/proc/zoneinfo` | [`memory::zone`] |
//! | `/proc/buddyinfo` | [`memory::buddy`] |
//! | `/proc/vmstat`, `/proc/uptime` | [`memory::vmstat`] |
//! | `/proc/swaps`, `/sys/block/ram*` | [`memory::swap`] |
//! | `/proc/<pid>/smaps`, `auxv`, `environ`, `status` | [`process`] |
//! | `/proc/<pid>/pagemap`, `/proc/kpageflags` | [`process::folio`] |
//! | `/proc/<pid>/cgroup`, `hugetlb.*` in its control groups | [`process::cgroup`] |
//!
//! `kernfs` parses the formats that the libraries also read, such as [`smaps`] and lines
//! of a name and a value ([`keyed`]).
//!
//! Parsers take bytes and know no path. Only [`root::Root`] opens kernel files. No module
//! here prints or makes decisions.
//!
//! The feature `fixture` enables `fixture` and `sim`.

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod head;
pub mod hugetlb;
pub mod machine;
pub mod memory;
pub mod mount;
pub mod process;
pub mod root;
#[cfg(any(test, feature = "fixture"))]
pub mod sim;
pub mod thp;
pub mod units;

pub use head::Head;
pub use hugetools_kernfs::{choice, keyed, mountinfo, size_name, smaps};
pub use machine::Machine;
pub use root::Root;
pub use root::error::FileError;
pub use root::kpath::KPath;
pub use units::size::{Bytes, PageCount, PageSize};
