//! What a program drops of its own code and variables comes from its file again, as of the
//! pages that the loader had mapped: of the memory that stands there now the kernel would
//! make zeros. Advice that the kernel gives to no file's memory is refused as it refuses it.
#![expect(
    unsafe_code,
    reason = "maps the program's own file where it was mapped"
)]

use core::ffi::c_int;
use core::ops::Range;

use hugetools_kernfs::smaps;
use libc::Elf64_Ehdr;

use super::{Holes, Kind, before_change};
use crate::extent::mlocked;
use crate::kernel::procfile::{each_line, look};
use crate::registry::own_file::{self, Part};
use crate::sys::{self, Errno, File, Result};

/// `madvise(2)` of a range in which something comes from the file; `None` where nothing
/// does, or it is all the same. `others` advises what is beside it.
pub(crate) fn madvise(
    range: &Range<usize>,
    advice: c_int,
    others: impl Fn(&Range<usize>) -> Result<()>,
) -> Option<Result<()>> {
    let kind = Kind::of(advice);
    let differs = matches!(kind, Kind::Drops | Kind::OnlyPrivate | Kind::Frees);
    if !differs || !own_file::meets(range) {
        return None;
    }
    let mut holes = Holes::none();
    let mut at = range.start;
    while at < range.end {
        let next = own_file::first(&(at..range.end));
        let (end, result) = match next {
            Some(part) if part.range.start == at => (part.range.end, advise(&part, kind, advice)),
            next => {
                let end = next.map_or(range.end, |part| part.range.start);
                (end, others(&(at..end)))
            }
        };
        if let Err(error) = holes.pass(result) {
            return Some(Err(error));
        }
        at = end;
    }
    Some(holes.end(Ok(())))
}

fn advise(part: &Part, kind: Kind, advice: c_int) -> Result<()> {
    match kind {
        Kind::Drops => {
            before_change(&part.range);
            if kind.is_refused_where_locked(advice) && is_locked(&part.range) {
                return Err(Errno(libc::EINVAL));
            }
            comes_again(part)
        }
        Kind::Frees => Err(Errno(libc::EACCES)),
        _ => Err(Errno(libc::EINVAL)),
    }
}

/// Whether the program has locked it: there the kernel refuses what is only a hint (since
/// Linux 5.4), too.
fn is_locked(range: &Range<usize>) -> bool {
    const MADV_COLD: c_int = 20;
    // SAFETY: the advice changes no contents.
    let advised = unsafe { sys::madvise(range.start, range.len(), MADV_COLD) };
    advised == Err(Errno(libc::EINVAL)) && sys::knows_advice(MADV_COLD)
}

/// Maps the file once more. Where that cannot be had, what is never written is as it is
/// there; what is, is not dropped.
fn comes_again(part: &Part) -> Result<()> {
    let Some(file) = look(program) else {
        return match part.is_writable {
            true => Err(Errno(libc::EAGAIN)),
            false => Ok(()),
        };
    };
    let mut at = part.range.start;
    while at < part.range.end {
        let mapping = look(|| Mapping::at(at)).ok_or(Errno(libc::ENOMEM))?;
        let end = mapping.end.min(part.range.end);
        // SAFETY: the program has given up what is there.
        unsafe { mapping.replace(&(at..end), &file, part.file_start)? };
        at = end;
    }
    mlocked::restore(&part.range);
    Ok(())
}

/// The program's own file, where it is that one which `/proc` has for it: started by way of
/// its loader it is not.
fn program() -> Option<File> {
    let file = File::open(c"/proc/self/exe", libc::O_RDONLY).ok()?;
    let (headers, count) = own_file::headers();
    let mut begin = [0_u8; size_of::<Elf64_Ehdr>()];
    let is_read = file.read_at(&mut begin, 0).ok()? == begin.len();
    // SAFETY: as long as such a header, of which any bytes are one.
    let begin = unsafe { begin.as_ptr().cast::<Elf64_Ehdr>().read_unaligned() };
    if !is_read || count == 0 || usize::from(begin.e_phnum) != count {
        return None;
    }
    let mut at = usize::try_from(begin.e_phoff).ok()?;
    let mut piece = [0_u8; 64];
    for known in headers.chunks(piece.len()) {
        let piece = &mut piece[..known.len()];
        let is_read = file.read_at(piece, at).ok()? == known.len();
        if !is_read || piece != known {
            return None;
        }
        at += known.len();
    }
    Some(file)
}

/// What is mapped at an address.
struct Mapping {
    end: usize,
    prot: c_int,
}

impl Mapping {
    fn at(addr: usize) -> Option<Mapping> {
        each_line(c"/proc/self/maps", |line| {
            let record = smaps::records(line).next()?;
            let is_here = (record.start..record.end).contains(&(addr as u64));
            let rights = [
                (record.readable, libc::PROT_READ),
                (record.writable, libc::PROT_WRITE),
                (record.executable, libc::PROT_EXEC),
            ];
            let given = rights.iter().filter(|(is_given, _)| *is_given);
            let prot = given.fold(libc::PROT_NONE, |all, (_, bit)| all | bit);
            let end = usize::try_from(record.end).ok()?;
            is_here.then_some(Mapping { end, prot })
        })
    }

    /// Puts a part of a file in the place of a part of it.
    ///
    /// # Safety
    /// The contents must be the caller's to drop.
    unsafe fn replace(&self, range: &Range<usize>, file: &File, file_start: usize) -> Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
        let offset = range.start.wrapping_sub(file_start);
        let (start, len) = (range.start, range.len());
        // SAFETY: as the caller says.
        unsafe { sys::mmap(start, len, self.prot, flags, file.fd(), offset) }.map(drop)
    }
}
