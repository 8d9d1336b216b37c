//! Swap files and RAM disks, without a shell and without `mkswap`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hugetools_model::Root;
use hugetools_model::memory::swap;
use nix::unistd::{SysconfVar, sysconf};

use super::caught_signal;
use super::sys::{swap_off, swap_on};
use crate::step::Swap;

/// Signature at the end of the first page.
const MAGIC: &[u8] = b"SWAPSPACE2";

/// Offset of the header in the first page.
const HEADER: usize = 1024;

pub(super) fn on(swap: &Swap) -> io::Result<()> {
    let Some(size) = swap.size else {
        return disk_on(&swap.path);
    };
    // create_new never opens an existing file, so only our own is removed below.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&swap.path)?;
    let made = fill(&mut file, size.get())
        .and_then(|()| write_header(&mut file, size.get()))
        .and_then(|()| swap_on(&swap.path));
    made.inspect_err(|_| {
        let _ = fs::remove_file(&swap.path);
    })
}

/// Writes zeros, because some file systems cannot swap to blocks that were never written.
fn fill(file: &mut File, size: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut left = size;
    while left > 0 {
        if caught_signal().is_some() {
            return Err(io::Error::from_raw_os_error(libc::EINTR));
        }
        let part = usize::try_from(left).map_or(zeros.len(), |left| left.min(zeros.len()));
        file.write_all(&zeros[..part])?;
        left -= part as u64;
    }
    Ok(())
}

fn disk_on(path: &Path) -> io::Result<()> {
    // O_EXCL: refuse a disk that is mounted or used as swap.
    let mut disk = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(path)?;
    let size = disk.seek(SeekFrom::End(0))?;
    let mut first = vec![0; page_size()?];
    disk.rewind()?;
    disk.read_exact(&mut first)?;
    // mkswap leaves the bytes before the header unchanged. On a RAM disk without
    // data they are zero.
    let empty = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    if !empty(&first[..HEADER]) || !(first.ends_with(MAGIC) || empty(&first)) {
        return Err(io::Error::other("the disk holds data"));
    }
    write_header(&mut disk, size)?;
    drop(disk);
    swap_on(path)
}

/// Writes the header of a swap area: version 1, the last page, no bad pages.
fn write_header(file: &mut File, size: u64) -> io::Result<()> {
    let page = page_size()?;
    let last = (size / page as u64).saturating_sub(1);
    let last = u32::try_from(last).map_err(io::Error::other)?;
    let mut first = vec![0; page];
    first[HEADER..HEADER + 4].copy_from_slice(&1u32.to_ne_bytes());
    first[HEADER + 4..HEADER + 8].copy_from_slice(&last.to_ne_bytes());
    first[page - MAGIC.len()..].copy_from_slice(MAGIC);
    file.rewind()?;
    file.write_all(&first)?;
    file.sync_data()
}

fn page_size() -> io::Result<usize> {
    let size = sysconf(SysconfVar::PAGE_SIZE)?.and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| io::Error::other("the page size is unknown"))
}

/// Disables swap, which moves its pages back into memory. Retries after a signal, so
/// that it is never left half done.
pub(super) fn off(root: &Root, swap: &Swap) -> io::Result<()> {
    let used = swap::read(root).unwrap_or_default();
    if used.iter().any(|used| used.path == swap.path) {
        while let Err(error) = swap_off(&swap.path) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
    match swap.size {
        Some(_) => fs::remove_file(&swap.path),
        None => Ok(()),
    }
}
