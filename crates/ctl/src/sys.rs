//! System calls without a safe wrapper in std or nix.
#![expect(
    unsafe_code,
    reason = "neither std nor nix has a safe mmap, getxattr or get_mempolicy"
)]

pub(crate) mod clock;
pub(crate) mod collapse;
pub(crate) mod descriptor;
pub(crate) mod filter;
pub(crate) mod page_cache;
pub(crate) mod program;
pub(crate) mod report_page;
pub(crate) mod thp;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

/// Whether a file begins with these bytes. Maps it executable, as a loader does, because a
/// `noexec` mount or a security module may forbid that. The file must stay at least that long.
pub(crate) fn maps_as(file: &File, bytes: &[u8]) -> io::Result<bool> {
    let len = NonZeroUsize::new(bytes.len()).unwrap_or(NonZeroUsize::MIN);
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_EXEC;
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_POPULATE;
    // SAFETY: the kernel chooses a free place.
    let place = unsafe { mmap(None, len, prot, flags, file, 0) }?;
    // SAFETY: the mapping has this length, is read-only, and outlives the slice.
    let mapped = unsafe { std::slice::from_raw_parts(place.as_ptr().cast::<u8>(), bytes.len()) };
    let same = mapped == bytes;
    // SAFETY: the mapping just made; nothing refers to it any more.
    unsafe { munmap(place, len.get()) }?;
    Ok(same)
}

/// Whether an executable has file capabilities (`security.capability`).
pub(crate) fn has_file_capabilities(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let name = c"security.capability";
    // SAFETY: both strings end with NUL. A size of 0 asks for the length, and nothing is
    // written.
    let len = unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) };
    len > 0
}

/// Whether exec raised this process's privileges (`AT_SECURE`).
pub(crate) fn is_secure() -> bool {
    // SAFETY: reads a number of the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the memory nodes that this process may allocate from: its cpuset's, restricted by
/// an `MPOL_BIND` policy. `None` without NUMA support, or if a seccomp filter refuses the call.
pub(crate) fn allowed_nodes() -> Option<BTreeSet<u32>> {
    // MPOL_F_MEMS_ALLOWED, which libc does not name.
    const MEMS_ALLOWED: libc::c_ulong = 1 << 2;
    let (_, allowed) = memory_policy(MEMS_ALLOWED)?;
    let (mode, policy) = memory_policy(0)?;
    match mode {
        libc::MPOL_BIND => Some(allowed.intersection(&policy).copied().collect()),
        _ => Some(allowed),
    }
}

/// Returns the mode and the nodes of `get_mempolicy(2)`.
fn memory_policy(flags: libc::c_ulong) -> Option<(libc::c_int, BTreeSet<u32>)> {
    // More nodes than any kernel supports.
    const NODES: usize = 4096;
    const BITS: u32 = libc::c_ulong::BITS;
    const MODE_FLAGS: libc::c_int = 0xe000;
    let mut mode: libc::c_int = 0;
    let mut mask = [0 as libc::c_ulong; NODES / BITS as usize];
    let address = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one number and at most NODES bits.
    let result = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            mask.as_mut_ptr(),
            NODES,
            address,
            flags,
        )
    };
    if result != 0 {
        return None;
    }
    let words = (0..).zip(mask).filter(|(_, word)| *word != 0);
    let nodes = words.flat_map(|(index, word): (u32, libc::c_ulong)| {
        let set = (0..BITS).filter(move |bit| word >> bit & 1 == 1);
        set.map(move |bit| index * BITS + bit)
    });
    Some((mode & !MODE_FLAGS, nodes.collect()))
}
