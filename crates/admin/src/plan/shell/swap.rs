//! Swap, as shell commands.

use hugetools_model::Root;

use super::quote;
use crate::step::Swap;

/// Creates and enables swap.
pub(super) fn on(swap: &Swap, root: &Root) -> String {
    let path = quote(root, &swap.path);
    let on = format!("mkswap -q {path} && swapon {path}");
    match swap.size {
        None => on,
        Some(size) => {
            let size = size.get();
            format!("(umask 077 && fallocate -l {size} {path}) && {on}")
        }
    }
}

/// Disables swap and removes its file.
pub(super) fn off(swap: &Swap, root: &Root) -> String {
    let path = quote(root, &swap.path);
    match swap.size {
        None => format!(
            "! grep -q {} /proc/swaps || swapoff {path}",
            quote_pattern(&path)
        ),
        Some(_) => format!("[ ! -e {path} ] || {{ swapoff {path}; rm -f {path}; }}"),
    }
}

/// A grep pattern for a device at the start of a line.
fn quote_pattern(path: &str) -> String {
    format!("'^{path} '")
}
