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
            format!("(umask 077 && head -c {size} /dev/zero > {path}) && {on}")
        }
    }
}

/// Disables swap and removes its file.
pub(super) fn off(swap: &Swap, root: &Root) -> String {
    let path = quote(root, &swap.path);
    match swap.size {
        None => format!("! grep -q '^{path} ' /proc/swaps || swapoff {path}"),
        Some(_) => format!("[ ! -e {path} ] || {{ swapoff {path}; rm -f {path}; }}"),
    }
}
