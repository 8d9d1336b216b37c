//! Installs files, reads the configuration, and runs commands of the init system.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::config::source::{DEFAULT, DIRECTORY, Source};
use crate::report::Failure;
use crate::step::Installed;

pub(super) fn read_installed(path: &Path) -> io::Result<Option<Installed>> {
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
        // O_NONBLOCK: opening a FIFO would block.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)?
        .read_to_string(&mut text)?;
    let mode = meta.permissions().mode() & 0o7777;
    Ok(Some(Installed::Text { text, mode }))
}

/// Replaces a file atomically, by rename. Removes the temporary file of a killed run.
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

/// Reads the given file, or the default file and directory if they exist. An error describes the
/// first mistake, with its position.
#[expect(
    clippy::disallowed_methods,
    reason = "hugetools.toml is not a kernel file"
)]
pub fn read_config(path: Option<&Path>) -> Result<Vec<Source>, String> {
    let paths = match path {
        Some(path) => vec![path.to_owned()],
        None => config_files().map_err(|error| unreadable(Path::new(DIRECTORY), &error))?,
    };
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        Source::new(path, text)
    };
    paths.into_iter().map(read).collect()
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    Failure::call(&format!("read {}", path.display()), error).error
}

/// Returns the configuration files that exist: the default file, then the directory's by name.
fn config_files() -> io::Result<Vec<PathBuf>> {
    let mut paths = match fs::read_dir(DIRECTORY) {
        Ok(entries) => entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let default = Some(PathBuf::from(DEFAULT)).filter(|path| path.exists());
    Ok(default.into_iter().chain(paths).collect())
}

/// Writes a world-readable file atomically: a reader sees the old or the new contents.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    let failed = |error| Failure::call(&format!("write {}", path.display()), &error).error;
    // Without this check, the rename would replace a device such as /dev/null.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let dir = path.parent();
    if let Some(dir) = dir.filter(|dir| *dir == Path::new("/etc/hugetools")) {
        let _ = make_dir(dir);
    }
    let contents = Installed::Text {
        text: text.to_owned(),
        mode: 0o644,
    };
    install(path, &contents).map_err(failed)
}

/// Creates a directory and its missing parents. Only the owner can write to them, under any umask.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

pub(super) fn run(words: &[&str]) -> io::Result<()> {
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    let done = command.args(args).stdin(Stdio::null()).output()?;
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
