//! Whether other users' processes are visible.

use hugetools_kernfs::mountinfo::Mount;

use crate::root::Root;
use crate::root::kpath::KPath;

/// Returns the mount option of `/proc` that hides other users' processes (`hidepid`,
/// since Linux 3.3), as `hidepid=invisible`; `None` if all are visible. Who may read
/// the first process may read all of them.
pub fn hidden_by(root: &Root) -> Option<String> {
    let mounts = root.read_opt(&KPath::from("/proc/self/mountinfo")).ok()??;
    // The last mount covers earlier ones.
    let mut lines = mounts.rsplit(|byte| *byte == b'\n');
    let proc = lines.find_map(|line| {
        let mount = Mount::of_mountinfo(line)?;
        (mount.point == b"/proc" && mount.fs_type == b"proc").then_some(mount.fs_options)
    })?;
    let word = hiding(proc)?;
    let init = root.read_opt(&KPath::from("/proc/1/status"));
    (!matches!(init, Ok(Some(_)))).then_some(word)
}

/// Returns the option that hides processes from some users.
fn hiding(options: &[u8]) -> Option<String> {
    let mut words = options.split(|byte| *byte == b',');
    let word = words.find(|word| word.starts_with(b"hidepid="))?;
    let is_off = matches!(word, b"hidepid=0" | b"hidepid=off");
    (!is_off).then(|| String::from_utf8_lossy(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidepid_options() {
        let hides = |text: &str| hiding(text.as_bytes());
        assert_eq!(hides("rw"), None);
        assert_eq!(hides("rw,hidepid=off"), None);
        let invisible = Some("hidepid=invisible".to_owned());
        assert_eq!(hides("rw,gid=5,hidepid=invisible"), invisible);
    }
}
