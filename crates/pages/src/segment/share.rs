//! One copy of the code for all processes of a user: a file on hugetlbfs, made by the first
//! process.
//!
//! * [`ShareDir`]: the directory of these files and its checks.
//! * `name`: a name has the program's inode and change time, so that no process maps other code.
//!   It also has the path: old versions are found by it and removed.
//! * `make`: a file gets its name when it is complete. Its maker holds a lock, which the kernel
//!   releases if the maker dies.
#![expect(unsafe_code, reason = "replaces the program's code by a copy")]

use core::ops::Range;

use super::load::Load;
use super::page_cache;
use super::reason::Reason;
use crate::extent::page_sizes::Layout;
use crate::extent::{Holds, index};
use crate::kernel::{file_mapping, populate};
use crate::sys::{self, File};

mod make;
mod name;
mod share_dir;

pub use share_dir::{ShareDir, ShareDirError};

/// Maps the shared copy over whole pages of the program's code. If it fails, they are unchanged.
pub fn put(load: &Load, range: &Range<usize>, share_dir: &ShareDir) -> Result<(), Reason> {
    if load.modulus < share_dir.page_size() {
        return Err(Reason::RandomAddress);
    }
    if !page_cache::is_unchanged(range) {
        return Err(Reason::Changed);
    }
    let mut path = [0; 4096];
    let program = program(range.start, &mut path).ok_or(Reason::OtherFile)?;
    let part = name::Part {
        offset: range.start - load.file_start,
        len: range.len(),
    };
    let file = make::get(share_dir, &program, &part)?;
    map(load, range, share_dir.page_size(), &file)
}

/// The program's file; `None` if the code at `addr` is of another file. After `ld.so PROGRAM`,
/// `/proc/self/exe` is the loader.
fn program(addr: usize, path: &mut [u8]) -> Option<make::Program<'_>> {
    let len = sys::read_link(c"/proc/self/exe", path).ok()?;
    let path = path.get(..len)?;
    let mut mapped = [0; 4096];
    let is_executed = file_mapping::file_name(addr, &mut mapped)? == path;
    let file = File::open(c"/proc/self/exe", libc::O_RDONLY).ok()?;
    is_executed.then(|| make::Program::of(file, path))?
}

/// Maps the copy and registers it, so that operations on part of a huge page move that page to base
/// pages first.
fn map(load: &Load, range: &Range<usize>, size: usize, file: &File) -> Result<(), Reason> {
    let layout = Layout::of_pages(size);
    let extent = index::adopt(range.clone(), layout, Holds::Text, load.prot);
    let extent = extent.map_err(|_| Reason::NoMemory)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the file has the same contents, and nobody writes to it.
    let mapped = unsafe { sys::mmap(range.start, range.len(), load.prot, flags, file.fd(), 0) };
    if let Err(error) = mapped {
        index::destroy(extent);
        return Err(Reason::of_access(error));
    }
    extent.publish_first(range.len(), layout.page_state());
    populate::for_reading(range.start, range.len(), size);
    Ok(())
}
