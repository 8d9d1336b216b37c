//! User namespaces: root of one has no rights outside of it.

use hugetools_model::{FileError, KPath, Root};

/// Returns the map of the process's user namespace unless it is the machine's own.
pub(crate) fn user_namespace(root: &Root) -> Result<Option<String>, FileError> {
    let map = root.read_opt(&KPath::from("/proc/self/uid_map"))?;
    let map = map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let words = map.map(|map| map.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(words.filter(|words| words != "0 0 4294967295" && !words.is_empty()))
}
