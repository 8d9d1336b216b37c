//! The words of a loaded file that hold addresses of functions elsewhere.
#![expect(unsafe_code, reason = "reads tables of loaded files")]

use core::ffi::{CStr, c_char};

use crate::loader::objects::{Object, STRTAB, SYMTAB};

/// `Elf64_Rela`
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// A table and its length in bytes: that of calls, and that of all else.
const TABLES: [(i64, i64); 2] = [(23, 2), (7, 8)];

impl Object<'_> {
    /// The first of the functions that `pick` knows which it calls and has not
    /// itself.
    pub(crate) fn calls<T>(&self, mut pick: impl FnMut(&CStr) -> Option<T>) -> Option<T> {
        let mut found = None;
        self.each_slot(|_, symbol, name| {
            if found.is_none() && symbol.st_shndx == 0 {
                found = pick(name);
            }
        });
        found
    }

    /// Calls `visit` with the address of each word that the loader fills for a
    /// symbol, and with the symbol's name.
    pub fn slots(&self, mut visit: impl FnMut(usize, &CStr)) {
        self.each_slot(|at, _, name| visit(at, name));
    }

    fn each_slot(&self, mut visit: impl FnMut(usize, &libc::Elf64_Sym, &CStr)) {
        let (Some(strings), Some(symbols)) = (self.table(STRTAB), self.table(SYMTAB)) else {
            return;
        };
        for (table, len) in TABLES {
            let (Some(table), Some(len)) = (self.table(table), self.value(len)) else {
                continue;
            };
            let count = len / size_of::<Relocation>();
            // SAFETY: a table of the object's, which stays while it is loaded.
            let entries = unsafe { core::slice::from_raw_parts(table as *const Relocation, count) };
            for entry in entries.iter().filter(|entry| entry.info >> 32 != 0) {
                let word = |value: u64| usize::try_from(value).unwrap_or(0);
                let at = symbols + word(entry.info >> 32) * size_of::<libc::Elf64_Sym>();
                // SAFETY: one of the object's symbols.
                let symbol = unsafe { &*(at as *const libc::Elf64_Sym) };
                let name = strings + symbol.st_name as usize;
                // SAFETY: a C string in the object's table of strings.
                let name = unsafe { CStr::from_ptr(name as *const c_char) };
                visit(self.base.wrapping_add(word(entry.offset)), symbol, name);
            }
        }
    }
}
