//! The kernel's huge page state, read once into values.
//!
//! Wings, from the ground up; each knows only those above it in this list, and begins
//! with what holds in it.
//!
//! | wing | what it is for |
//! |---|---|
//! | [`head`] | what every JSON document of every tool begins with |
//! | [`units`] | bytes, page sizes, page counts; lists of the kernel's, seconds |
//! | [`root`] | the only door to `/proc` and `/sys`, and what goes wrong there |
//! | [`mount`] | mounted file systems |
//! | [`memory`] | memory as a whole: its figures, zones, free blocks, swap, settings |
//! | [`hugetlb`] | the pools of huge pages, of the machine and of its memory nodes |
//! | [`thp`] | transparent huge pages |
//! | [`process`] | a process, its control groups, the folios that it has |
//! | [`machine`] | everything at once |
//! | `fixture` | recorded machines, for tests |
//! | `sim` | a kernel that answers what is written, for tests |
//!
//! Which file of the kernel is read where:
//!
//! | kernel file | type |
//! |---|---|
//! | `/proc/meminfo`, `/sys/devices/system/node/node*/meminfo` | [`memory::meminfo::Meminfo`] |
//! | `/sys/kernel/mm/hugepages/*`, `/proc/sys/vm/nr_*hugepages*` | [`hugetlb::pool::Pool`] |
//! | `/proc/cmdline` | [`hugetlb::boot::Boot`] |
//! | `/sys/devices/system/node/*` | [`hugetlb::node::Node`] |
//! | `/sys/kernel/mm/transparent_hugepage/*` | [`thp::Thp`], [`thp::ThpSettings`], [`thp::stats`] |
//! | `/proc/self/mountinfo`, `/proc/mounts` | [`mount::Mount`] |
//! | `/proc/sys/vm/*`, `/proc/sys/kernel/shm*` | [`memory::sysctl::Sysctl`] |
//! | `/dev/userfaultfd`, `/proc/sys/vm/unprivileged_userfaultfd` | [`memory::userfault::UserFault`] |
//! | `/proc/buddyinfo`, `/proc/zoneinfo` | [`memory::zone`] |
//! | `/proc/buddyinfo`, `/proc/pagetypeinfo` | [`memory::buddy`] |
//! | `/proc/vmstat`, `/proc/uptime` | [`memory::vmstat`] |
//! | `/proc/swaps`, `/sys/block/ram*` | [`memory::swap`] |
//! | `/proc/<pid>/smaps`, `auxv`, `environ`, `status` | [`process`] |
//! | `/proc/<pid>/pagemap`, `/proc/kpageflags` | [`process::folio`] |
//! | `/proc/<pid>/cgroup`, `hugetlb.*` in its control groups | [`process::cgroup`] |
//!
//! Text that the libraries read, too, is parsed by `kernfs`, such as [`smaps`] and lines of
//! a name and a value ([`keyed`]); some of the rest by the crate procfs ([`root::parse`]).
//!
//! Parsers take bytes and know no path; [`root::Root`] is the only module that
//! opens a kernel file. Nothing here prints or decides.
//!
//! `fixture` and `sim` are there with the feature `fixture`.

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
