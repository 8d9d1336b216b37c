//! Pointers that are to be freed and that we have not handed out, such as a
//! program's own mapping of a file from `hugetlbfs_unlinked_fd`. A mapping on
//! pages of a pool that begins there is unmapped. Nothing else is: that would
//! be memory of somebody who does not know.
#![expect(unsafe_code, reason = "unmaps memory of the program")]

use hugetools_kernfs::smaps;
use hugetools_pages::sys;

use crate::rt::scratch;

/// Unmaps the first mapping on pages of a pool that begins at one of these
/// addresses; `false` where there is none.
///
/// # Safety
/// The program must have given it back.
pub(crate) unsafe fn free(starts: &[usize]) -> bool {
    let found = scratch::look(c"/proc/self/smaps", |text| {
        starts.iter().find_map(|start| find(text, *start))
    });
    let Some((start, len)) = found.flatten() else {
        return false;
    };
    // SAFETY: as the caller says.
    unsafe { sys::munmap(start, len) }.is_ok()
}

fn find(text: &[u8], start: usize) -> Option<(usize, usize)> {
    let base = sys::page_size() as u64;
    let found = smaps::records(text).find(|record| record.start == start as u64)?;
    let on_huge = found.kernel_page_size > base;
    on_huge.then(|| Some((start, usize::try_from(found.mapped()).ok()?)))?
}
