//! Swap, as shell commands.

use hugetools_model::Root;

use super::quote;
use crate::step::Swap;

/// Makes swap and uses it.
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

/// Uses it no longer, and removes its file.
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

/// A device at the begin of a line.
fn quote_pattern(path: &str) -> String {
    format!("'^{path} '")
}
