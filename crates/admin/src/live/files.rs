//! The files of `--install-boot`, and the command that announces them.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::step::Installed;

pub(super) fn installed(path: &Path) -> io::Result<Option<Installed>> {
    let meta = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    if meta.is_symlink() {
        return Ok(Some(Installed::Link(fs::read_link(path)?)));
    }
    let mut text = String::new();
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?
        .read_to_string(&mut text)?;
    let mode = meta.permissions().mode() & 0o7777;
    Ok(Some(Installed::Text { text, mode }))
}

/// Writes beside the file and renames. A file that a killed run left is replaced.
pub(super) fn install(path: &Path, contents: &Installed) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".hugetools-new");
    let new = Path::new(&new);
    let _ = fs::remove_file(new);
    match contents {
        Installed::Link(to) => symlink(to, new)?,
        Installed::Text { text, mode } => {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).open(new)?;
            file.write_all(text.as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(*mode))?;
            file.sync_all()?;
        }
    }
    fs::rename(new, path)
}

pub(super) fn run(words: &[&str]) -> io::Result<()> {
    let (program, rest) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    let done = command.args(rest).stdin(Stdio::null()).output()?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let why = String::from_utf8_lossy(&done.stderr);
            Err(io::Error::other(format!(
                "{}: {}",
                done.status,
                why.trim_end()
            )))
        }
    }
}
