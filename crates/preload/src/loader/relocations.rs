//! Finds the symbols that a loaded object needs from others, by its relocations.
#![expect(unsafe_code, reason = "reads tables of loaded files")]

use core::ffi::{CStr, c_char};

use crate::loader::objects::{Object, STRTAB, SYMTAB};

/// `Elf64_Rela`
#[repr(C)]
struct Relocation {
    _offset: u64,
    info: u64,
    _addend: i64,
}

/// Tags of a table and its length in bytes: `DT_JMPREL` with `DT_PLTRELSZ`, and `DT_RELA` with
/// `DT_RELASZ`.
const TABLES: [(i64, i64); 2] = [(23, 2), (7, 8)];

impl Object<'_> {
    /// Calls `pick` with the name of each undefined symbol of a relocation until it returns a
    /// value, and returns that.
    pub(crate) fn find_undefined<T>(&self, mut pick: impl FnMut(&CStr) -> Option<T>) -> Option<T> {
        let (strings, symbols) = (self.table(STRTAB)?, self.table(SYMTAB)?);
        for (table, len) in TABLES {
            let (Some(table), Some(len)) = (self.table(table), self.value(len)) else {
                continue;
            };
            let count = len / size_of::<Relocation>();
            // SAFETY: the object's table is mapped and aligned while the object is loaded.
            let entries = unsafe { core::slice::from_raw_parts(table as *const Relocation, count) };
            // The upper half of `info` is the index of the symbol; 0 for none.
            for entry in entries.iter().filter(|entry| entry.info >> 32 != 0) {
                let index = usize::try_from(entry.info >> 32).unwrap_or(0);
                let at = symbols + index * size_of::<libc::Elf64_Sym>();
                // SAFETY: one of the object's symbols.
                let symbol = unsafe { &*(at as *const libc::Elf64_Sym) };
                if symbol.st_shndx != 0 {
                    continue;
                }
                let name = strings + symbol.st_name as usize;
                // SAFETY: a C string in the object's string table.
                let found = pick(unsafe { CStr::from_ptr(name as *const c_char) });
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }
}
