//! Queries about a mapped file.

use hugetools_kernfs::keyed;
use hugetools_kernfs::smaps::records;

use crate::kernel::procfile::each_line;

/// Bytes of the file mapping at `addr` that huge pages map; `None` if unknown. Reads no further
/// than that mapping: the kernel walks the pages of each mapping it prints.
pub fn file_huge_bytes(addr: usize) -> Option<u64> {
    let mut is_here = false;
    each_line(c"/proc/self/smaps", |line| {
        if let Some(bytes) = keyed::number_in(line, b"FilePmdMapped:").filter(|_| is_here) {
            return Some(bytes.saturating_mul(1024));
        }
        if let Some(record) = records(line).next() {
            is_here = (record.start..record.end).contains(&(addr as u64));
        }
        None
    })
}

/// Name of the mapping at `addr`, empty if it has none; `None` if unmapped or the name is too long.
pub fn file_name(addr: usize, buffer: &mut [u8]) -> Option<&[u8]> {
    let len = each_line(c"/proc/self/maps", |line| {
        let record = records(line).next()?;
        let is_here = (record.start..record.end).contains(&(addr as u64));
        let place = buffer.get_mut(..record.name.len())?;
        is_here.then(|| {
            place.copy_from_slice(record.name);
            place.len()
        })
    })?;
    buffer.get(..len)
}
