//! Programs with their own allocator.
//!
//! A program may also call its allocator by other names than malloc's. With our malloc it could
//! free a block with the wrong one, so it keeps its own. Only the program's own file is read
//! here: the preloaded library finds other allocators in the running process, and reports them.

use std::fmt;

use hugetools_contract::allocators::ALLOCATORS;
use hugetools_elf::Elf;

/// Why a program keeps its own allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Own {
    Defined,
    /// It calls this function of an allocator, such as `mallocx`.
    Called(String),
    /// It needs this library of a sanitizer, which must see every allocation.
    Checked(String),
}

impl Own {
    /// Returns the fact as a sentence about the program.
    pub(crate) fn fact(&self) -> String {
        format!("the program has its own allocator ({self})")
    }

    /// Whether `--anon` reaches its memory: jemalloc, mimalloc and tcmalloc use mappings or
    /// the program break.
    pub(crate) fn is_reached_by_anon(&self) -> bool {
        let Own::Called(name) = self else {
            return false;
        };
        let mut prefixes = ["je_", "mi_", "tc_"].into_iter();
        name.ends_with("allocx") || prefixes.any(|prefix| name.starts_with(prefix))
    }
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Own::Defined => f.write_str("it defines malloc itself"),
            Own::Called(name) => write!(f, "it calls {name}"),
            Own::Checked(library) => write!(f, "that of a sanitizer, {library}"),
        }
    }
}

/// Prefixes of the names of sanitizer libraries.
const SANITIZERS: [&[u8]; 4] = [b"libasan.so", b"libtsan.so", b"libmsan.so", b"liblsan.so"];

/// Returns why a program keeps its own allocator, if it does.
pub(crate) fn find(program: &Elf) -> Option<Own> {
    if matches!(program.defines("malloc"), Ok(true)) {
        return Some(Own::Defined);
    }
    let needed = program.dynamic().map(|dynamic| dynamic.needed.as_slice());
    let mut needed = needed.unwrap_or_default().iter();
    let is_sanitizer = |name: &&Vec<u8>| SANITIZERS.iter().any(|it| name.starts_with(it));
    if let Some(library) = needed.find(is_sanitizer) {
        return Some(Own::Checked(String::from_utf8_lossy(library).into_owned()));
    }
    let is_entry_point = |name: &[u8]| {
        // Saves most searches. Drops the names of TBB, whose library has no malloc to keep.
        let may_be =
            name.ends_with(b"allocx") || name.get(2) == Some(&b'_') || name.starts_with(b"rp");
        may_be
            && ALLOCATORS.iter().any(|allocator| {
                let names = allocator.entry_points;
                names
                    .binary_search_by(|known| known.to_bytes().cmp(name))
                    .is_ok()
            })
    };
    let name = program.refers_to(is_entry_point).ok()??;
    Some(Own::Called(String::from_utf8_lossy(&name).into_owned()))
}
