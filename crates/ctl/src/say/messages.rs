//! `--messages`: the destination of messages instead of standard error. hugectl opens it
//! first, with its own rights, and it stays open for the program and its children.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hugetools_contract::env::{self, InheritedFd, Messages};
use hugetools_model::root::error::describe;

use crate::caller::Caller;
use crate::sys::descriptor;

/// The destination of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDestination {
    /// A file, by its absolute path; messages are appended.
    File(PathBuf),
    /// An open descriptor.
    Descriptor(RawFd),
}

impl MessageDestination {
    /// Parses the option's value: a number is a descriptor.
    pub(crate) fn parse(word: &OsStr) -> Option<MessageDestination> {
        let bytes = word.as_bytes();
        match !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit) {
            true => word
                .to_str()?
                .parse()
                .ok()
                .map(MessageDestination::Descriptor),
            false => std::path::absolute(word).ok().map(MessageDestination::File),
        }
    }

    /// Returns the value of `HUGETLB_MESSAGES` if nothing was opened.
    pub(crate) fn value(&self) -> OsString {
        match self {
            MessageDestination::File(path) => path.clone().into(),
            MessageDestination::Descriptor(number) => number.to_string().into(),
        }
    }
}

/// An open destination.
#[derive(Debug)]
pub struct Outlet {
    file: Arc<File>,
    value: OsString,
}

impl Outlet {
    /// Opens the destination.
    ///
    /// # Errors
    /// It cannot be written to; the second line says what to do.
    pub fn open(to: &MessageDestination) -> Result<Outlet, String> {
        match to {
            MessageDestination::Descriptor(number) => of_descriptor(*number).map_err(|why| {
                format!(
                    "--messages={number}: {why}\n  have your shell open it: hugectl \
                     --messages={number} PROGRAM {number}>>FILE"
                )
            }),
            MessageDestination::File(path) => of_file(path).map_err(|error| {
                format!(
                    "--messages={}: it cannot be opened for writing: {}\n  name a file in a \
                     directory that you may write to",
                    path.display(),
                    describe(&error)
                )
            }),
        }
    }

    /// Returns the destination that another hugectl has set in the environment.
    pub fn inherited(caller: &Caller) -> Option<Outlet> {
        let value = caller.var(env::MESSAGES)?;
        let messages = Messages::read(value.as_bytes())?;
        let open = |given: InheritedFd| {
            let number = RawFd::try_from(given.number).ok()?;
            let (file, can_write) = descriptor::duplicate(number).ok()??;
            let is_same = given
                .file
                .is_none_or(|then| identity(&file).ok() == Some(then));
            (is_same && can_write).then_some(file)
        };
        let named = |path: &[u8]| append(Path::new(OsStr::from_bytes(path))).ok();
        let file = messages.inherited.and_then(open);
        let file = file.or_else(|| messages.path.and_then(named))?;
        let (file, value) = (Arc::new(file), value.to_owned());
        Some(Outlet { file, value })
    }

    /// Returns the value of `HUGETLB_MESSAGES`, by which libraries find the destination.
    pub(crate) fn value(&self) -> &OsStr {
        &self.value
    }

    /// Returns the file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }
}

fn of_descriptor(number: RawFd) -> Result<Outlet, String> {
    let found = descriptor::duplicate(number).map_err(|error| describe(&error))?;
    let (file, can_write) = found.ok_or("no file of that number is open")?;
    if !can_write {
        return Err("the file of that number is open for reading only".to_owned());
    }
    let value = value(&file, number, Path::new("")).map_err(|error| describe(&error))?;
    let file = Arc::new(file);
    Ok(Outlet { file, value })
}

fn of_file(path: &Path) -> io::Result<Outlet> {
    let file = append(path)?;
    let number = descriptor::duplicate_for_exec(&file)?;
    let value = value(&file, number, path)?;
    let file = Arc::new(file);
    Ok(Outlet { file, value })
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o666);
    // Fails on a pipe without a reader instead of waiting for one.
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}

fn value(file: &File, number: RawFd, path: &Path) -> io::Result<OsString> {
    let inherited = InheritedFd {
        number: u32::try_from(number).unwrap_or_default(),
        file: Some(identity(file)?),
    };
    let mut value = inherited.to_string().into_bytes();
    value.extend(path.as_os_str().as_bytes());
    Ok(OsString::from_vec(value))
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let about = file.metadata()?;
    Ok((about.dev(), about.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stays_open_for_the_program() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("said");
        let outlet = Outlet::open(&MessageDestination::File(path.clone())).unwrap();
        let messages = Messages::read(outlet.value().as_bytes()).unwrap();
        assert_eq!(messages.path, Some(path.as_os_str().as_bytes()));
        assert!(messages.inherited.unwrap().file.is_some());
        let caller = Caller::this([(env::MESSAGES.into(), outlet.value().to_owned())]);
        let same = Outlet::inherited(&caller).unwrap();
        assert_eq!(
            identity(same.file()).unwrap(),
            identity(outlet.file()).unwrap()
        );
        // A descriptor number that now means another file is not used.
        let mut stale = b"0:1:1:".to_vec();
        stale.extend(path.as_os_str().as_bytes());
        let caller = Caller::this([(env::MESSAGES.into(), OsString::from_vec(stale))]);
        let named = Outlet::inherited(&caller).unwrap();
        assert_eq!(
            identity(named.file()).unwrap(),
            identity(outlet.file()).unwrap()
        );
    }
}
