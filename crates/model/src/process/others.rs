//! Whether other users' processes are visible.

use hugetools_kernfs::keyed;
use hugetools_kernfs::mountinfo::Mount;

use crate::root::Root;
use crate::root::kpath::KPath;

/// Returns the mount option of `/proc` that hides other users' processes (`hidepid`,
/// since Linux 3.3), as `hidepid=invisible`; `None` if all are visible.
pub fn hidden_by(root: &Root) -> Option<String> {
    let mounts = root.read_opt(&KPath::from("/proc/self/mountinfo")).ok()??;
    // The last mount covers earlier ones.
    let mut lines = mounts.rsplit(|byte| *byte == b'\n');
    let proc = lines.find_map(|line| {
        let mount = Mount::of_mountinfo(line)?;
        (mount.point == b"/proc" && mount.fs_type == b"proc").then_some(mount.fs_options)
    })?;
    let (word, heeds_group) = hiding(proc)?;
    let is_shown = root.exists(&KPath::from("/proc/1/status"));
    let status = root.read_opt(&KPath::from("/proc/self/status"));
    let status = status.ok().flatten().unwrap_or_default();
    let group = group(proc).filter(|_| heeds_group);
    let may_see = may_trace(&status) || group.is_some_and(|group| is_in(&status, group));
    (!is_shown || !may_see).then_some(word)
}

/// Returns the option that hides processes, and whether it exempts a group.
fn hiding(options: &[u8]) -> Option<(String, bool)> {
    let mut words = options.split(|byte| *byte == b',');
    words.find_map(|word| {
        let heeds_group = match word.strip_prefix(b"hidepid=")? {
            b"1" | b"noaccess" | b"2" | b"invisible" => true,
            b"4" | b"ptraceable" => false,
            _ => return None,
        };
        Some((String::from_utf8_lossy(word).into_owned(), heeds_group))
    })
}

/// Returns the exempt group; root's if `gid=` is not set.
fn group(options: &[u8]) -> Option<u64> {
    let mut words = options.split(|byte| *byte == b',');
    let Some(word) = words.find_map(|word| word.strip_prefix(b"gid=")) else {
        return Some(0);
    };
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Whether a process with this `status` has `CAP_SYS_PTRACE`.
fn may_trace(status: &[u8]) -> bool {
    const CAP_SYS_PTRACE: u64 = 1 << 19;
    let set = keyed::value(status, b"CapEff:").and_then(|set| std::str::from_utf8(set).ok());
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set & CAP_SYS_PTRACE != 0)
}

fn is_in(status: &[u8], group: u64) -> bool {
    let of = |name: &[u8], at: usize| {
        let text = keyed::value(status, name).unwrap_or_default();
        let text = String::from_utf8_lossy(text).into_owned();
        let mut words = text.split_whitespace().skip(at);
        words.any(|word| word.parse() == Ok(group))
    };
    of(b"Groups:", 0) || of(b"Gid:", 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidepid_options() {
        let hides = |text: &str| hiding(text.as_bytes());
        assert_eq!(hides("rw"), None);
        assert_eq!(hides("rw,hidepid=off"), None);
        assert_eq!(
            hides("rw,gid=5,hidepid=invisible"),
            Some(("hidepid=invisible".to_owned(), true))
        );
        assert_eq!(
            hides("rw,hidepid=ptraceable"),
            Some(("hidepid=ptraceable".to_owned(), false))
        );
        assert_eq!(group(b"rw,gid=5,hidepid=2"), Some(5));
        assert_eq!(group(b"rw,hidepid=2"), Some(0));
        let status = b"Gid:\t7\t8\t8\t8\nCapEff:\t0000000000080000\nGroups:\t5 6 \n";
        assert!(may_trace(status) && is_in(status, 5) && is_in(status, 8));
        assert!(!is_in(status, 7) && !may_trace(b"CapEff:\t0000000000000000\n"));
    }
}
