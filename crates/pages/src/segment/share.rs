//! One copy of the text for all processes of a user: a file on a hugetlbfs,
//! made by the first that needs it, mapped by all.
//!
//! * [`Shelf`]: the directory of these files, and who may write to it.
//! * `name`: a file is known by the inode of its program and by when that was
//!   changed, so that nobody gets the text of another program, nor that of an
//!   earlier version; by its path, so that earlier versions go away.
//! * `make`: the file appears complete, under a lock that ends with its holder.
#![expect(unsafe_code, reason = "replaces the program's code by a copy")]

use core::ops::Range;

use super::load::Load;
use super::own_pages;
use super::why::Why;
use crate::extent::page_sizes::Layout;
use crate::extent::{Holds, index};
use crate::kernel::{file_mapping, populate};
use crate::sys::{self, Errno, File};

mod make;
mod name;
mod shelf;

pub use shelf::{NoShelf, Shelf};

/// Puts a part of the program's text, whole pages of the shelf, on the shared
/// copy of it.
///
/// # Errors
/// Why it is not so; nothing has changed for the program then.
pub fn put(load: &Load, range: &Range<usize>, shelf: &Shelf) -> Result<(), Why> {
    if load.modulus < shelf.page_size() {
        return Err(Why::Wanders);
    }
    if !own_pages::is_unchanged(range) {
        return Err(Why::Changed);
    }
    let mut path = [0; 4096];
    let program = program(range.start, &mut path).ok_or(Why::OtherFile)?;
    let part = name::Part {
        offset: range.start - load.file_start,
        len: range.len(),
    };
    let file = make::get(shelf, &program, &part)?;
    map(load, range, shelf.page_size(), &file)
}

/// The file of the program, whose code is at `addr`. None where that is not
/// what was executed: a loader may have been, with the program as its argument.
fn program(addr: usize, path: &mut [u8]) -> Option<make::Program<'_>> {
    let len = sys::read_link(c"/proc/self/exe", path).ok()?;
    let path = path.get(..len)?;
    let mut mapped = [0; 4096];
    let is_executed = file_mapping::file_name(addr, &mut mapped)? == path;
    let file = File::open(c"/proc/self/exe", libc::O_RDONLY).ok()?;
    is_executed.then(|| make::Program::of(file, path))?
}

/// Maps the copy in the place of the text, and registers it, so that what then
/// wants to change a part of it finds it on ordinary pages again.
fn map(load: &Load, range: &Range<usize>, size: usize, file: &File) -> Result<(), Why> {
    let layout = Layout::of_pages(size);
    let extent = index::adopt(range.clone(), layout, Holds::Text, load.prot);
    let extent = extent.map_err(|_| Why::NoMemory)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the file holds what is there, and nobody writes to it.
    let mapped = unsafe { sys::mmap(range.start, range.len(), load.prot, flags, file.fd(), 0) };
    if let Err(error) = mapped {
        index::destroy(extent);
        return Err(match error {
            Errno(libc::EACCES | libc::EPERM) => Why::Denied,
            _ => Why::NoMemory,
        });
    }
    extent.publish_first(range.len(), layout.page_state());
    populate::for_reading(range.start, range.len(), size);
    Ok(())
}
