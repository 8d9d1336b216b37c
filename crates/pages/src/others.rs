//! The other threads of the process.

use core::ffi::CStr;

use crate::file::{self, Path};
use crate::sys::Dir;

/// Whether each of them can wait in a handler of `SIGSEGV`: one that has blocked
/// the signal would be killed. Where it cannot be told, no.
pub fn can_wait() -> bool {
    let Ok(dir) = Dir::open(c"/proc/self/task") else {
        return false;
    };
    let mut all = true;
    dir.each(|name| all &= !blocks_faults(name));
    all
}

/// Whether an entry of `/proc/self/task` is a thread that blocks the signal.
fn blocks_faults(name: &CStr) -> bool {
    let name = name.to_str().unwrap_or_default();
    let path = Path::of(format_args!("/proc/self/task/{name}/status"));
    let mut buffer = [0; 4096];
    let status = path.map_or(&[][..], |path| file::head(path.c_str(), &mut buffer));
    let mut lines = status.split(|byte| *byte == b'\n');
    let blocked = lines.find_map(|line| line.strip_prefix(b"SigBlk:"));
    let text = blocked.and_then(|text| core::str::from_utf8(text.trim_ascii()).ok());
    let set = text.and_then(|text| u64::from_str_radix(text, 16).ok());
    set.is_some_and(|set| set >> (libc::SIGSEGV - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::NoSignals;

    #[test]
    fn a_thread_that_blocks_signals_is_seen() {
        let mut name = format!("{}\0", crate::sys::gettid());
        let entry = CStr::from_bytes_with_nul(name.as_bytes()).unwrap();
        assert!(!blocks_faults(entry));
        let quiet = NoSignals::begin();
        assert!(blocks_faults(entry));
        drop(quiet);
        assert!(!blocks_faults(entry));
        name.clear();
        assert!(!blocks_faults(c"no such thread"));
    }
}
