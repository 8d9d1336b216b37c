//! Who has a program open for writing: the kernel does not start it then.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Those that can be seen, by name and number, and what to do.
pub(super) fn said(program: &Path) -> String {
    let who = match find(program).as_slice() {
        [] => "some process has it open for writing".to_owned(),
        [one] => format!("process {one} has it open for writing"),
        more => format!("processes {} have it open for writing", more.join(", ")),
    };
    format!("; {who}: start it once that is closed, or put the new file in its place by a rename")
}

/// Those of which this user may look at what they have open.
fn find(program: &Path) -> Vec<String> {
    let Ok(file) = std::fs::metadata(program) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let (name, dir) = (process.file_name(), process.path());
        let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(number) = number.filter(|_| writes(&dir, &file)) else {
            continue;
        };
        let name = text(&dir.join("comm"));
        found.push(format!("{number} ({})", name.trim_end()));
    }
    found
}

/// Whether one of its descriptors can write to the file.
fn writes(process: &Path, file: &Metadata) -> bool {
    let open = std::fs::read_dir(process.join("fd"));
    open.into_iter().flatten().flatten().any(|one| {
        let is_it = std::fs::metadata(one.path())
            .is_ok_and(|found| (found.dev(), found.ino()) == (file.dev(), file.ino()));
        is_it && can_write(&text(&process.join("fdinfo").join(one.file_name())))
    })
}

/// Whether such a text of `/proc/PID/fdinfo` is of a descriptor for writing.
fn can_write(info: &str) -> bool {
    let mut lines = info.lines();
    let flags = lines.find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[expect(
    clippy::disallowed_methods,
    reason = "said of the processes beside this one, where the kernel has just refused it"
)]
fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_octal() {
        assert!(can_write("pos:\t0\nflags:\t0100001\nmnt_id:\t9\n"));
        assert!(can_write("flags:\t0100002\n"));
        assert!(!can_write("flags:\t0100000\n") && !can_write(""));
    }

    #[test]
    fn a_writer_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let own = format!("process {} (", std::process::id());
        assert!(said(file.path()).contains(&own), "{}", said(file.path()));
        let closed = file.into_temp_path();
        assert!(!said(&closed).contains(&own));
    }
}
