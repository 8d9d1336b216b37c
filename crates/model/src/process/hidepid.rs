//! Whether other users' processes are visible.

use hugetools_kernfs::mountinfo::Mount;

use crate::root::Root;
use crate::root::kpath::KPath;

/// Returns the `hidepid` option of `/proc` (since Linux 3.3) that hides other users' processes
/// from us, such as `hidepid=invisible`. `None` if `/proc/1` is readable: then all are visible.
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

/// Returns the `hidepid` option, unless it is off.
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
