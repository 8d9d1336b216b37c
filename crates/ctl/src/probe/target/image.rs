//! The kind of a program, by its file.

use std::ffi::OsStr;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hugetools_elf::{Elf, Ident, Kind};
use nix::sys::prctl::get_no_new_privs;
use nix::sys::statvfs::{FsFlags, statvfs};

use super::Refused;
use crate::caller::Caller;
use crate::sys;

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Libc {
    Glibc,
    Musl,
    Other,
}

impl fmt::Display for Libc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Libc::Glibc => "glibc",
            Libc::Musl => "musl",
            Libc::Other => "an unknown C library",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Image {
    /// A dynamic loader starts it, and preloads libraries.
    Dynamic(Libc),
    /// The kernel starts it; no library can be added.
    Static,
    /// Its architecture isn't that of our libraries.
    Foreign(Ident),
    Unknown(String),
}

/// Why the kernel sets `AT_SECURE`, so that the loader ignores `LD_PRELOAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecureExec {
    SetUserId,
    SetGroupId,
    Capabilities,
}

impl fmt::Display for SecureExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SecureExec::SetUserId => "set-user-id",
            SecureExec::SetGroupId => "set-group-id",
            SecureExec::Capabilities => "given capabilities by its file",
        })
    }
}

impl SecureExec {
    /// Returns advice: the caller for whom the kernel doesn't set `AT_SECURE`.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            SecureExec::SetUserId => "start hugectl as the owner of the file",
            SecureExec::SetGroupId => "start hugectl with the group of the file",
            SecureExec::Capabilities => "start hugectl as root",
        }
    }
}

pub(super) fn classify(path: &Path, elf: &Elf) -> Result<Image, Refused> {
    // Its loader is not checked: an emulator (binfmt_misc) finds it below another root.
    if elf.ident() != Ident::native() {
        return Ok(Image::Foreign(elf.ident()));
    }
    let loader = elf.interpreter().unwrap_or_default();
    let loader = Path::new(OsStr::from_bytes(loader));
    if elf.interpreter().is_some() {
        if let Err(error) = std::fs::metadata(loader) {
            let mut refused = Refused::io(&error, loader);
            refused.text = format!("its loader {}", refused.text);
            return Err(refused);
        }
    }
    Ok(match elf.kind() {
        Kind::Exec | Kind::Pie => Image::Dynamic(libc_by_name(loader).unwrap_or(Libc::Other)),
        Kind::Static | Kind::StaticPie => Image::Static,
        // A loader started as a program runs its argument. Other libraries crash.
        Kind::Library => libc_by_name(path).map_or(Image::Static, Image::Dynamic),
        Kind::Other => Image::Unknown("an object file or a core dump".to_owned()),
    })
}

fn libc_by_name(loader: &Path) -> Option<Libc> {
    let loader = loader.file_name()?.as_bytes();
    let glibc: [&[u8]; 5] = [b"ld-linux", b"ld64.so", b"ld.so.1", b"ld-2.", b"ld.so.2"];
    if loader.starts_with(b"ld-musl-") {
        return Some(Libc::Musl);
    }
    let is_glibc = glibc.iter().any(|start| loader.starts_with(start));
    is_glibc.then_some(Libc::Glibc)
}

/// Returns why the kernel will set `AT_SECURE`; `None` if it won't.
pub(super) fn secure_exec(path: &Path, metadata: &Metadata, caller: &Caller) -> Option<SecureExec> {
    const SET_USER_ID: u32 = 0o4000;
    const SET_GROUP_ID: u32 = 0o2010;
    let mode = metadata.mode();
    let found = if mode & SET_USER_ID != 0 && metadata.uid() != caller.uid {
        SecureExec::SetUserId
    } else if mode & SET_GROUP_ID == SET_GROUP_ID && metadata.gid() != caller.gid {
        SecureExec::SetGroupId
    } else if caller.uid != 0 && sys::has_file_capabilities(path) {
        SecureExec::Capabilities
    } else {
        return None;
    };
    let ignored = statvfs(path).is_ok_and(|fs| fs.flags().contains(FsFlags::ST_NOSUID))
        || get_no_new_privs().unwrap_or(false);
    (!ignored).then_some(found)
}
