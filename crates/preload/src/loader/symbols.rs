//! The symbols that a loaded file defines, by name, as the loader finds them.
#![expect(unsafe_code, reason = "reads tables of loaded files")]

use core::ffi::CStr;

use crate::loader::objects::{Object, STRTAB, SYMTAB};

const HASH: i64 = 4;
const GNU_HASH: i64 = 0x6fff_fef5;

/// A symbol in a loaded file's table.
pub type Symbol = libc::Elf64_Sym;

/// The tables by which a loaded file's symbols are found, for many names at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    object: &'a Object<'a>,
    strings: usize,
    symbols: usize,
    hash: Hash,
}

/// A table of hashes, of either kind.
#[derive(Debug, Clone, Copy)]
enum Hash {
    Gnu(usize),
    Old(usize),
}

impl Tables<'_> {
    /// Calls `visit` with each symbol of that name that the file defines.
    fn definitions(&self, name: &CStr, hash: u32, mut visit: impl FnMut(*mut Symbol)) {
        let mut look_at = |index: usize| {
            let symbol = (self.symbols + index * size_of::<Symbol>()) as *mut Symbol;
            // SAFETY: one of the object's symbols, which stay while it is
            // loaded.
            let known = unsafe { &*symbol };
            let at = self.strings + known.st_name as usize;
            // SAFETY: a C string in the object's table of strings.
            if known.st_shndx != 0 && unsafe { is_named(at, name) } {
                visit(symbol);
            }
        };
        match self.hash {
            // SAFETY: the object's table, which stays while it is loaded.
            Hash::Gnu(table) => unsafe { each_of_chain(table, hash, &mut look_at) },
            Hash::Old(table) => {
                // SAFETY: likewise.
                let count = unsafe { count_of_symbols(table) };
                (1..count).for_each(look_at);
            }
        }
    }

    /// The address of the first of them, and where calls from its own file enter it.
    fn entries_of(&self, name: &CStr, hash: u32) -> Option<[usize; 2]> {
        let mut found = None;
        self.definitions(name, hash, |symbol| {
            // SAFETY: one of the object's symbols, which stay while it is
            // loaded.
            let symbol = unsafe { &*symbol };
            let value = usize::try_from(symbol.st_value).unwrap_or(0);
            let address = self.object.base.wrapping_add(value);
            let entry = address.wrapping_add(local_entry(symbol.st_other));
            found.get_or_insert([address, entry]);
        });
        found
    }

    /// The function of a name with that hash.
    pub(crate) fn function(&self, name: &CStr, hash: u32) -> Option<Function> {
        let mut found = None;
        self.definitions(name, hash, |symbol| {
            // SAFETY: one of the object's symbols, which stay while it is loaded.
            let symbol = unsafe { &*symbol };
            let value = usize::try_from(symbol.st_value).unwrap_or(0);
            found.get_or_insert(match symbol.st_info & 0xf {
                INDIRECT => Function::Indirect,
                _ => Function::At(self.object.base.wrapping_add(value)),
            });
        });
        found
    }
}

/// The type of a symbol whose function tells the address of another, which is meant.
const INDIRECT: u8 = 10;

/// A function, as a table of symbols knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// Its address.
    At(usize),
    /// The loader asks another function for its address.
    Indirect,
}

impl Object<'_> {
    /// Its tables, where it has them.
    pub(crate) fn tables(&self) -> Option<Tables<'_>> {
        let [gnu, strings, symbols] = self.tables_of([GNU_HASH, STRTAB, SYMTAB]);
        let old = || self.table(HASH).map(Hash::Old);
        Some(Tables {
            object: self,
            strings: strings?,
            symbols: symbols?,
            hash: gnu.map(Hash::Gnu).or_else(old)?,
        })
    }

    /// Calls `visit` with each symbol of that name that it defines: there may
    /// be one for each version.
    pub fn definitions(&self, name: &CStr, visit: impl FnMut(*mut Symbol)) {
        if let Some(tables) = self.tables() {
            tables.definitions(name, gnu_hash(name), visit);
        }
    }

    /// The address of the first of them.
    pub fn address_of(&self, name: &CStr) -> Option<usize> {
        self.entries_of(name).map(|[address, _]| address)
    }

    /// The address of the first of them, and where calls from its own file enter
    /// it.
    pub fn entries_of(&self, name: &CStr) -> Option<[usize; 2]> {
        self.tables()?.entries_of(name, gnu_hash(name))
    }
}

/// Whether a name stands there.
///
/// # Safety
/// A C string must.
unsafe fn is_named(at: usize, name: &CStr) -> bool {
    let mut bytes = name.to_bytes_with_nul().iter().enumerate();
    // SAFETY: the string has not ended before the first byte that differs.
    bytes.all(|(place, byte)| unsafe { ((at + place) as *const u8).read() } == *byte)
}

/// The part of `st_other` that says how far behind its address a function is
/// entered from its own file, which on powerpc64le is behind where it finds the
/// file's own table.
pub const LOCAL_ENTRY: u8 = match cfg!(target_arch = "powerpc64") {
    true => 0xe0,
    false => 0,
};

fn local_entry(other: u8) -> usize {
    1 << ((other & LOCAL_ENTRY) >> 5) & !3
}

/// How the newer tables order names.
pub(crate) const fn gnu_hash(name: &CStr) -> u32 {
    let bytes = name.to_bytes();
    let (mut hash, mut at) = (5381_u32, 0);
    while at < bytes.len() {
        hash = hash.wrapping_mul(33).wrapping_add(bytes[at] as u32);
        at += 1;
    }
    hash
}

/// Calls `visit` with the index of each symbol whose name may be of that hash.
///
/// # Safety
/// `table` must be a table of that kind, of a loaded file.
unsafe fn each_of_chain(table: usize, hash: u32, visit: &mut impl FnMut(usize)) {
    // SAFETY: as the caller says; so for all of these.
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

/// How many symbols there are, by the older kind of table, whose words are
/// wider on one machine.
///
/// # Safety
/// `table` must be a table of that kind, of a loaded file.
unsafe fn count_of_symbols(table: usize) -> usize {
    if cfg!(target_arch = "s390x") {
        // SAFETY: as the caller says.
        let count = unsafe { ((table + 8) as *const u64).read() };
        return usize::try_from(count).unwrap_or(0);
    }
    // SAFETY: as the caller says.
    unsafe { ((table + 4) as *const u32).read() as usize }
}
