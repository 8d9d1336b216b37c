//! Who may have System V segments of pool pages.

use std::path::Path;

use hugetools_model::sysctl;
use hugetools_model::{FileError, KPath, Root};

use crate::caller::Caller;
use crate::files;

/// Whether the caller may have `SHM_HUGETLB`: by `CAP_IPC_LOCK` or by group.
pub(super) fn may_lock(root: &Root, caller: &Caller) -> Result<bool, FileError> {
    const CAP_IPC_LOCK: u64 = 1 << 14;
    let status = root.read(&KPath::from("/proc/self/status"))?;
    let line = |name: &[u8]| {
        let mut lines = status.split(|byte| *byte == b'\n');
        lines.find_map(|line| Some(std::str::from_utf8(line.strip_prefix(name)?).ok()?.trim()))
    };
    let capabilities = line(b"CapEff:").and_then(|text| u64::from_str_radix(text, 16).ok());
    if capabilities.is_some_and(|set| set & CAP_IPC_LOCK != 0) {
        return Ok(true);
    }
    let group = root.number_opt(&sysctl::shm_group_path())?;
    let in_group = |gid: u64| {
        let mut others = line(b"Groups:")
            .unwrap_or_default()
            .split_ascii_whitespace();
        gid == u64::from(caller.egid) || others.any(|other| other.parse() == Ok(gid))
    };
    // Group 0 is what the sysctl says when no group is set; it counts all the
    // same.
    Ok(group.is_some_and(in_group))
}

/// The name of a group, from the file alone: a name service would cost more
/// than the whole start.
pub(super) fn name(gid: u32) -> String {
    let number = gid.to_string();
    let text = read_all(Path::new("/etc/group"));
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, gid) = (fields.next()?, fields.nth(1)?);
        (gid == number && !name.is_empty()).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

fn read_all(path: &Path) -> String {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read =
        files::open_regular(path).and_then(|(file, _)| file.take(16 << 20).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}
