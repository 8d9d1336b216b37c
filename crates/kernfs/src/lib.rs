//! The kernel's text, parsed: bytes in, values out. Each of its formats has one reader,
//! here, for the tools (by way of `model`) and for the libraries (`pages`).
//!
//! | module | what it reads |
//! |---|---|
//! | [`auxv`] | `/proc/<pid>/auxv` |
//! | [`cgroup`] | `/proc/<pid>/cgroup`, limits of control groups |
//! | [`choice`] | `always [madvise] never` |
//! | [`environ`] | `/proc/<pid>/environ` |
//! | [`escape`] | `\040` in mount tables |
//! | [`keyed`] | lines of a name and a value: `meminfo`, `status`, fields of `smaps` |
//! | [`list`] | `0-3,8` |
//! | [`mountinfo`] | lines of `/proc/<pid>/mountinfo` and `/proc/mounts` |
//! | [`mount_scanner`] | hugetlbfs in `/proc/mounts`, byte by byte |
//! | [`number`] | numbers, decimal and hexadecimal |
//! | [`pagemap`] | entries of `/proc/<pid>/pagemap` |
//! | [`pool`] | names of folders such as `hugepages-2048kB` |
//! | [`size_name`] | nothing: it writes a page size, `2MB` |
//! | [`smaps`] | `/proc/<pid>/smaps`, `smaps_rollup`, `maps` |
//! | [`stat`] | `/proc/<pid>/stat` |
//!
//! Everything works on borrowed bytes: no allocation, no input or output, so that it
//! runs inside any process at any time. What is not said is a value of its own, never 0.
#![no_std]
#![forbid(unsafe_code)]

pub mod auxv;
pub mod cgroup;
pub mod choice;
pub mod environ;
pub mod escape;
pub mod keyed;
pub mod list;
pub mod mount_scanner;
pub mod mountinfo;
pub mod number;
pub mod pagemap;
pub mod pool;
pub mod size_name;
pub mod smaps;
pub mod stat;
