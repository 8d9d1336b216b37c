//! Parsers of the kernel's text files: bytes in, values out. Tools and libraries share one
//! parser per format.
//!
//! | module | parses |
//! |---|---|
//! | [`auxv`] | `/proc/<pid>/auxv` |
//! | [`cgroup`] | `/proc/<pid>/cgroup`, limits of control groups |
//! | [`choice`] | `always [madvise] never` |
//! | [`environ`] | `/proc/<pid>/environ` |
//! | [`escape`] | `\040` in mount tables |
//! | [`keyed`] | lines of a name and a value: `meminfo`, `status`, fields of `smaps` |
//! | [`list`] | `0-3,8` |
//! | [`mountinfo`] | lines of `/proc/<pid>/mountinfo` and `mounts` |
//! | [`number`] | numbers, decimal and hexadecimal |
//! | [`pagemap`] | entries of `/proc/<pid>/pagemap` |
//! | [`pool`] | names of directories such as `hugepages-2048kB` |
//! | [`size_name`] | nothing; it formats page sizes such as `2MB` |
//! | [`smaps`] | `/proc/<pid>/smaps`, `smaps_rollup`, `maps` |
//! | [`stat`] | `/proc/<pid>/stat` |
//!
//! Everything works on borrowed bytes, without allocation or I/O, so that it can run in
//! any process at any time. A missing value is `None`; only a missing counter of `smaps` is 0.
#![no_std]
#![forbid(unsafe_code)]

pub mod auxv;
pub mod cgroup;
pub mod choice;
pub mod environ;
pub mod escape;
pub mod keyed;
pub mod list;
pub mod mountinfo;
pub mod number;
pub mod pagemap;
pub mod pool;
pub mod size_name;
pub mod smaps;
pub mod stat;
