//! Symbols of a loaded object by name, as the loader finds them.
#![expect(unsafe_code, reason = "reads tables of loaded files")]

use core::ffi::CStr;

use crate::loader::objects::{Object, STRTAB, SYMTAB};

const GNU_HASH: i64 = 0x6fff_fef5;

/// An entry of a symbol table.
pub type Symbol = libc::Elf64_Sym;

/// The tables needed to find symbols.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables {
    base: usize,
    strings: usize,
    symbols: usize,
    hash: usize,
}

impl Tables {
    /// Calls `visit` with each definition of a name, whose [`gnu_hash`] is `hash`.
    fn definitions(&self, name: &CStr, hash: u32, mut visit: impl FnMut(*mut Symbol)) {
        let check = |index: usize| {
            let symbol = (self.symbols + index * size_of::<Symbol>()) as *mut Symbol;
            // SAFETY: one of the object's symbols, which stay while it is loaded.
            let known = unsafe { &*symbol };
            let at = self.strings + known.st_name as usize;
            // SAFETY: a C string in the object's string table.
            if known.st_shndx != 0 && unsafe { is_named(at, name) } {
                visit(symbol);
            }
        };
        // SAFETY: the object's table, which stays while it is loaded.
        unsafe { each_of_chain(self.hash, hash, check) };
    }

    /// Returns the first definition of a name, whose [`gnu_hash`] is `hash`.
    pub(crate) fn function(&self, name: &CStr, hash: u32) -> Option<Function> {
        let mut found = None;
        self.definitions(name, hash, |symbol| {
            // SAFETY: one of the object's symbols, which stay while it is loaded.
            let symbol = unsafe { &*symbol };
            let value = usize::try_from(symbol.st_value).unwrap_or(0);
            found.get_or_insert(match symbol.st_info & 0xf {
                INDIRECT => Function::Indirect,
                _ => Function::At(self.base.wrapping_add(value)),
            });
        });
        found
    }
}

/// `STT_GNU_IFUNC`
const INDIRECT: u8 = 10;

/// A function in a symbol table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// Its address.
    At(usize),
    /// A resolver returns its address.
    Indirect,
}

impl Object<'_> {
    /// Returns its tables. Objects without `DT_GNU_HASH` count as without symbols.
    pub(crate) fn tables(&self) -> Option<Tables> {
        Some(Tables {
            base: self.base,
            strings: self.table(STRTAB)?,
            symbols: self.table(SYMTAB)?,
            hash: self.table(GNU_HASH)?,
        })
    }

    /// Calls `visit` with each definition of a name: each version has its own.
    pub fn definitions(&self, name: &CStr, visit: impl FnMut(*mut Symbol)) {
        if let Some(tables) = self.tables() {
            tables.definitions(name, gnu_hash(name), visit);
        }
    }

    /// Returns the address of the first definition; `None` if a resolver returns it.
    pub fn address_of(&self, name: &CStr) -> Option<usize> {
        match self.tables()?.function(name, gnu_hash(name))? {
            Function::At(address) => Some(address),
            Function::Indirect => None,
        }
    }
}

/// Whether a string equals a name.
///
/// # Safety
/// There must be a C string at `at`.
unsafe fn is_named(at: usize, name: &CStr) -> bool {
    let mut bytes = name.to_bytes_with_nul().iter().enumerate();
    // SAFETY: the string has not ended before the first byte that differs.
    bytes.all(|(place, byte)| unsafe { ((at + place) as *const u8).read() } == *byte)
}

/// The bits of `st_other` that hold the offset of the local entry point (powerpc64le).
pub const LOCAL_ENTRY: u8 = match cfg!(target_arch = "powerpc64") {
    true => 0xe0,
    false => 0,
};

/// Returns the hash of a name in `DT_GNU_HASH`.
pub(crate) const fn gnu_hash(name: &CStr) -> u32 {
    let bytes = name.to_bytes();
    let (mut hash, mut at) = (5381_u32, 0);
    while at < bytes.len() {
        hash = hash.wrapping_mul(33).wrapping_add(bytes[at] as u32);
        at += 1;
    }
    hash
}

/// Calls `visit` with the index of each symbol that may have that hash.
///
/// # Safety
/// `table` must be a loaded object's `DT_GNU_HASH`.
unsafe fn each_of_chain(table: usize, hash: u32, mut visit: impl FnMut(usize)) {
    // SAFETY: upheld by the caller; so for all of these.
    let word = |at: usize| unsafe { (at as *const u32).read() };
    let [buckets, first, filter] = [0, 4, 8].map(|at| word(table + at) as usize);
    if buckets == 0 {
        return;
    }
    let buckets_at = table + 16 + filter * size_of::<u64>();
    let chains_at = buckets_at + buckets * size_of::<u32>();
    let mut index = word(buckets_at + hash as usize % buckets * size_of::<u32>()) as usize;
    if index < first {
        return;
    }
    loop {
        let link = word(chains_at + (index - first) * size_of::<u32>());
        if link | 1 == hash | 1 {
            visit(index);
        }
        if link & 1 == 1 {
            return;
        }
        index += 1;
    }
}
