//! Access to `/proc` and `/sys`, below an optional prefix.
//!
//! [`Root::live`] is the running system. [`Root::at`] is a directory with a recorded
//! `/proc` and `/sys` (`--sysroot`). All callers use logical paths ([`KPath`]), so
//! messages always name the kernel's own path.
//!
//! [`kpath`] defines the paths, [`error`] the errors.
//!
//! **Invariants.** No other module of this crate opens kernel files. A missing file is `None`
//! if some kernels lack it. Otherwise it is an error with path and cause.

use std::ffi::OsString;
#[cfg(any(test, feature = "fixture"))]
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
#[cfg(any(test, feature = "fixture"))]
use std::sync::{Arc, Mutex};

use hugetools_kernfs::number::parse_whole;

use crate::root::error::{FileError, Op};
use crate::root::kpath::KPath;

pub mod error;
pub mod kpath;

/// Owner and mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// User ID.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

/// The location of `/proc` and `/sys`.
#[derive(Debug, Clone)]
pub struct Root {
    prefix: Option<PathBuf>,
    #[cfg(any(test, feature = "fixture"))]
    kernel: Option<Arc<Mutex<dyn Kernel>>>,
}

/// Reacts to writes below a recorded tree, as a kernel would; for tests.
#[cfg(any(test, feature = "fixture"))]
pub trait Kernel: fmt::Debug + Send {
    /// Performs the kernel's reaction to a write of this value, or returns its error.
    fn write(&mut self, path: &KPath, value: &str) -> io::Result<()>;
}

impl Root {
    /// Returns the running system.
    pub fn live() -> Root {
        Root::new(None)
    }

    fn new(prefix: Option<PathBuf>) -> Root {
        Root {
            prefix,
            #[cfg(any(test, feature = "fixture"))]
            kernel: None,
        }
    }

    /// Returns the recorded `/proc` and `/sys` below a directory. Fails if it has neither.
    pub fn at(dir: impl Into<PathBuf>) -> Result<Root, String> {
        let dir = dir.into();
        if !dir.is_dir() {
            return Err(format!("{} is not a directory", dir.display()));
        }
        if !dir.join("proc").is_dir() && !dir.join("sys").is_dir() {
            return Err(format!("{} holds neither proc nor sys", dir.display()));
        }
        Ok(Root::new(Some(dir)))
    }

    /// Returns a recorded tree with a simulated kernel, for tests.
    #[cfg(any(test, feature = "fixture"))]
    pub fn simulated(dir: impl Into<PathBuf>, kernel: impl Kernel + 'static) -> Root {
        Root {
            kernel: Some(Arc::new(Mutex::new(kernel))),
            ..Root::new(Some(dir.into()))
        }
    }

    /// Whether this is the running system.
    pub fn is_live(&self) -> bool {
        self.prefix.is_none()
    }

    /// Whether a kernel, real or simulated, reacts to writes. A recorded tree only stores them.
    pub fn has_kernel(&self) -> bool {
        #[cfg(any(test, feature = "fixture"))]
        if self.kernel.is_some() {
            return true;
        }
        self.is_live()
    }

    /// Returns owner and mode of a file. `None` if it is missing, and in a recorded tree,
    /// whose files belong to the user who recorded it.
    pub fn owner(&self, path: &KPath) -> Option<Owner> {
        self.owner_on(Path::new(path.as_str()))
            .map(|(owner, _)| owner)
    }

    /// As [`Root::owner`], with the device number of the file system.
    pub fn owner_on(&self, path: &Path) -> Option<(Owner, u64)> {
        let found = fs::metadata(path).ok().filter(|_| self.is_live())?;
        let owner = Owner {
            uid: found.uid(),
            gid: found.gid(),
            mode: found.mode() & 0o7777,
        };
        Some((owner, found.dev()))
    }

    /// Returns the prefix of a recorded tree.
    pub fn prefix(&self) -> Option<&Path> {
        self.prefix.as_deref()
    }

    /// Returns the path of a file on the host: below the prefix of a recorded tree.
    pub fn host_path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match &self.prefix {
            None => path.to_owned(),
            Some(prefix) => prefix.join(path.strip_prefix("/").unwrap_or(path)),
        }
    }

    /// As [`Root::host_path`], but fails if a symbolic link leads out of a recorded tree. For
    /// a missing file, checks its nearest existing ancestor.
    pub fn checked_path(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        let path = self.host_path(path);
        let Some(prefix) = &self.prefix else {
            return Ok(path);
        };
        let existing = path.ancestors().find(|dir| dir.symlink_metadata().is_ok());
        let real = existing.unwrap_or(prefix).canonicalize()?;
        match real.starts_with(prefix.canonicalize()?) {
            true => Ok(path),
            false => Err(io::Error::other("a link leads out of the recorded tree")),
        }
    }

    /// Reads a whole file.
    pub fn read(&self, path: &KPath) -> Result<Vec<u8>, FileError> {
        self.read_io(path)
            .map_err(|error| FileError::io(Op::Read, path, &error))
    }

    /// Opens a file that is too long to be read at once.
    pub fn open(&self, path: &KPath) -> Result<fs::File, FileError> {
        self.open_io(path)
            .map_err(|error| FileError::io(Op::Read, path, &error))
    }

    fn open_io(&self, path: &KPath) -> io::Result<fs::File> {
        let path = self.checked_path(path.as_str())?;
        fs::OpenOptions::new().read(true).open(path)
    }

    /// Reads a whole file. `None` if this kernel lacks the file (`ENOENT`, `ENOTDIR`), its
    /// device was removed (`ENODEV`) or its process has ended (`ESRCH`).
    pub fn read_opt(&self, path: &KPath) -> Result<Option<Vec<u8>>, FileError> {
        match self.read_io(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(FileError::io(Op::Read, path, &error)),
        }
    }

    /// Reads a file with one unsigned number; `None` if it is absent.
    pub fn number_opt(&self, path: &KPath) -> Result<Option<u64>, FileError> {
        match self.read_opt(path)? {
            None => Ok(None),
            Some(bytes) => number(path, &bytes).map(Some),
        }
    }

    /// Reads a file with one unsigned number.
    pub fn number(&self, path: &KPath) -> Result<u64, FileError> {
        number(path, &self.read(path)?)
    }

    /// Lists the names in a directory, sorted; empty if it is absent.
    pub fn list(&self, path: &KPath) -> Result<Vec<OsString>, FileError> {
        let entries = match self.checked_path(path.as_str()).and_then(fs::read_dir) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) => return Err(FileError::io(Op::List, path, &error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| FileError::io(Op::List, path, &error))?;
            names.push(entry.file_name());
        }
        names.sort();
        Ok(names)
    }

    /// Whether the file exists.
    pub fn exists(&self, path: &KPath) -> bool {
        self.checked_path(path.as_str())
            .is_ok_and(|path| path.exists())
    }

    /// Writes a value with one `write(2)`, without creating the file. In a recorded tree,
    /// appends a newline as the kernel does, pads to the old length with newlines, then
    /// truncates: a reader always sees the old or the new value, even after SIGKILL.
    pub fn write(&self, path: &KPath, value: &str) -> Result<(), FileError> {
        self.write_io(path, value).map_err(|error| FileError {
            value: Some(value.to_owned()),
            ..FileError::io(Op::Write, path, &error)
        })
    }

    fn read_io(&self, path: &KPath) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(4096);
        // Without `take`, std first asks for the length, which kernel files don't report.
        let file = self.open_io(path)?;
        file.take(u64::MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write_io(&self, path: &KPath, value: &str) -> io::Result<()> {
        #[cfg(any(test, feature = "fixture"))]
        if let Some(kernel) = &self.kernel {
            let mut kernel = kernel.lock().map_err(|_| io::Error::other("poisoned"))?;
            return kernel.write(path, value);
        }
        let mut file = fs::OpenOptions::new()
            .write(true)
            .open(self.checked_path(path.as_str())?)?;
        if self.is_live() {
            return write_once(&mut file, value.as_bytes());
        }
        let text = format!("{value}\n");
        let length = text
            .len()
            .max(usize::try_from(file.metadata()?.len()).unwrap_or(0));
        let mut covering = text.clone().into_bytes();
        covering.resize(length, b'\n');
        write_once(&mut file, &covering)?;
        file.set_len(text.len() as u64)
    }
}

fn write_once(file: &mut fs::File, bytes: &[u8]) -> io::Result<()> {
    match file.write(bytes)? == bytes.len() {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EIO)),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENODEV | libc::ESRCH | libc::ENOTDIR)
    )
}

fn number(path: &KPath, bytes: &[u8]) -> Result<u64, FileError> {
    parse_whole(bytes).ok_or_else(|| not_a_number(path, bytes))
}

/// Returns the error for a file that is not a number.
pub(crate) fn not_a_number(path: &KPath, bytes: &[u8]) -> FileError {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(40)]);
    FileError::content(path, format!("not a number: {:?}", shown.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/sys/vm")).unwrap();
        let root = Root::at(dir.path()).unwrap();
        (dir, root)
    }

    fn put(root: &Root, path: &str, text: &str) {
        let mut file = fs::File::create(root.host_path(path)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn reads_and_writes_below_the_prefix_only() {
        let (_dir, root) = tree();
        let path = KPath::from("/proc/sys/vm/nr_hugepages");
        put(&root, path.as_str(), "1024\n");
        assert_eq!(root.number(&path), Ok(1024));
        root.write(&path, "7").unwrap();
        assert_eq!(root.read(&path).unwrap(), b"7\n");
    }

    #[test]
    fn writing_never_creates() {
        let (_dir, root) = tree();
        let path = KPath::from("/proc/sys/vm/nr_hugepages");
        let error = root.write(&path, "7").unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOENT));
        assert!(!root.exists(&path));
    }

    #[test]
    fn an_absent_file_is_none_and_an_invalid_one_an_error() {
        let (_dir, root) = tree();
        let path = KPath::from("/proc/sys/vm/nr_hugepages");
        assert_eq!(root.number_opt(&path), Ok(None));
        put(&root, path.as_str(), "many\n");
        assert_eq!(
            root.number_opt(&path).unwrap_err().to_string(),
            "cannot read /proc/sys/vm/nr_hugepages: not a number: \"many\""
        );
    }

    #[test]
    fn a_link_out_of_the_tree_is_neither_read_nor_written() {
        let (_dir, root) = tree();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let path = KPath::from("/proc/sys/vm/nr_hugepages");
        std::os::unix::fs::symlink(outside.path(), root.host_path(path.as_str())).unwrap();
        let cause = "a link leads out of the recorded tree";
        assert_eq!(
            root.write(&path, "7").unwrap_err().to_string(),
            format!("cannot write 7 to {path}: {cause}")
        );
        assert_eq!(
            root.read(&path).unwrap_err().to_string(),
            format!("cannot read {path}: {cause}")
        );
        assert_eq!(outside.path().metadata().unwrap().len(), 0);
        std::os::unix::fs::symlink("/", root.host_path("/elsewhere")).unwrap();
        assert!(root.checked_path("/elsewhere/tmp/not/there").is_err());
        assert!(root.checked_path("/proc/not/there").is_ok());
    }
}
