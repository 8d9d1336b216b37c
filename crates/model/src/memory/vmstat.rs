//! `/proc/vmstat`: counters of memory management since boot.

use std::collections::BTreeMap;

use crate::root::Root;
use crate::root::error::FileError;
use crate::root::kpath::KPath;

/// The counters by name. The set depends on the kernel's version and configuration.
pub type Counters = BTreeMap<String, u64>;

/// Returns the path of the file.
pub fn path() -> KPath {
    KPath::from("/proc/vmstat")
}

/// Reads the counters; `None` if the file is missing.
pub fn read(root: &Root) -> Result<Option<Counters>, FileError> {
    Ok(root.read_opt(&path())?.as_deref().map(parse))
}

/// Parses lines such as `thp_fault_alloc 12`. Skips other lines.
pub fn parse(bytes: &[u8]) -> Counters {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    });
    lines.collect()
}

/// Reads the uptime from `/proc/uptime` in seconds; `None` if it is missing.
pub fn uptime(root: &Root) -> Result<Option<f64>, FileError> {
    let text = root
        .read_opt(&KPath::from("/proc/uptime"))?
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Ok(text
        .split(' ')
        .next()
        .and_then(|seconds| seconds.parse().ok()))
}
