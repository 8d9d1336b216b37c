//! Namespaces: what root of one may do elsewhere.

use hugetools_model::{FileError, KPath, Root};

/// The map of a user namespace that is not the machine's own.
pub(crate) fn user_namespace(root: &Root) -> Result<Option<String>, FileError> {
    let map = root.read_opt(&KPath::from("/proc/self/uid_map"))?;
    let map = map.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let words = map.map(|map| map.split_whitespace().collect::<Vec<_>>().join(" "));
    Ok(words.filter(|words| words != "0 0 4294967295" && !words.is_empty()))
}
