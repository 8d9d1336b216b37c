//! The program and its libraries, as the loader knows them.
#![expect(unsafe_code, reason = "reads what the loader knows")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::offset_of;
use core::ops::ControlFlow;

/// A loaded file.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    /// What is added to the addresses in its headers.
    pub base: usize,
    /// Its name; empty for the program itself under glibc.
    pub name: &'a CStr,
    /// Its program headers.
    pub headers: &'a [libc::Elf64_Phdr],
    /// Whether it is the program itself.
    pub is_program: bool,
    /// How many objects were loaded so far; 0 where the loader does not tell.
    pub loads: u64,
}

/// Entries that hold addresses of tables.
const STRTAB: i64 = 5;
const SYMTAB: i64 = 6;

/// `Elf64_Dyn`
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

impl Object<'_> {
    /// The file that it was loaded from.
    pub(crate) fn file(&self) -> &CStr {
        match self.is_program {
            true => c"/proc/self/exe",
            false => self.name,
        }
    }

    /// Whether it is the kernel's own, which has no file. musl gives it no name.
    pub(crate) fn is_vdso(&self) -> bool {
        let names: [&[u8]; 2] = [b"linux-vdso", b"linux-gate"];
        let name = self.name.to_bytes();
        let named = names.iter().any(|vdso| name.starts_with(vdso));
        !self.is_program && (name.is_empty() || named)
    }

    /// Whether the loader writes to its code: not all of that need be done yet
    /// where the object is being loaded just now.
    pub(crate) fn has_text_relocations(&self) -> bool {
        const TEXTREL: i64 = 22;
        const FLAGS: i64 = 30;
        const DF_TEXTREL: u64 = 4;
        let says_so = |entry: &Entry| {
            entry.tag == TEXTREL || entry.tag == FLAGS && entry.value & DF_TEXTREL != 0
        };
        self.dynamic().iter().any(says_so)
    }

    /// Whether it was linked with a library of which the name begins so.
    pub(crate) fn needs(&self, name: &CStr) -> bool {
        const NEEDED: i64 = 1;
        let Some(table) = self.table(STRTAB) else {
            return false;
        };
        let needed = self.dynamic().iter().filter(|entry| entry.tag == NEEDED);
        let mut names = needed.map(|entry| table + usize::try_from(entry.value).unwrap_or(0));
        names.any(|at| {
            // SAFETY: a C string in the object's table of strings, which stays
            // while the object is loaded.
            let needed = unsafe { CStr::from_ptr(at as *const c_char) };
            needed.to_bytes().starts_with(name.to_bytes())
        })
    }

    /// Whether it is this library.
    pub(crate) fn is_ours(&self) -> bool {
        static HERE: u8 = 0;
        let here = (&raw const HERE) as usize;
        self.headers.iter().any(|header| {
            let word = |value: u64| usize::try_from(value).unwrap_or(0);
            let start = self.base.wrapping_add(word(header.p_vaddr));
            let end = start.saturating_add(word(header.p_memsz));
            header.p_type == libc::PT_LOAD && (start..end).contains(&here)
        })
    }

    /// Whether it calls a function of that name that it has not itself.
    pub(crate) fn refers_to(&self, name: &CStr) -> bool {
        let (Some(strings), Some(symbols)) = (self.table(STRTAB), self.table(SYMTAB)) else {
            return false;
        };
        (1..self.symbols_to_look_at()).any(|index| {
            let at = symbols + index * size_of::<libc::Elf64_Sym>();
            // SAFETY: one of the object's symbols, which stay while it is
            // loaded.
            let symbol = unsafe { &*(at as *const libc::Elf64_Sym) };
            let at = strings + symbol.st_name as usize;
            // SAFETY: a C string in the object's table of strings.
            symbol.st_shndx == 0 && unsafe { CStr::from_ptr(at as *const c_char) } == name
        })
    }

    /// How many symbols from the first there are that may be of others: GNU's
    /// table sorts them before its own, the older one has all.
    fn symbols_to_look_at(&self) -> usize {
        const HASH: i64 = 4;
        const GNU_HASH: i64 = 0x6fff_fef5;
        let Some(table) = self.table(GNU_HASH).or_else(|| self.table(HASH)) else {
            return 0;
        };
        // SAFETY: the second word of either table, which stays while the object
        // is loaded: the first symbol in GNU's, the number of symbols in the
        // older one.
        unsafe { *((table + size_of::<u32>()) as *const u32) as usize }
    }

    /// Where a table of the dynamic section lies.
    fn table(&self, tag: i64) -> Option<usize> {
        let mut entries = self.dynamic().iter();
        let value = entries.find(|entry| entry.tag == tag)?.value;
        let table = usize::try_from(value).unwrap_or(0);
        // Some loaders have put its address there, others leave it as it was.
        Some(match table < self.base {
            true => self.base + table,
            false => table,
        })
    }

    /// The entries of its dynamic section.
    fn dynamic(&self) -> &[Entry] {
        let mut headers = self.headers.iter();
        let Some(header) = headers.find(|header| header.p_type == libc::PT_DYNAMIC) else {
            return &[];
        };
        let word = |value: u64| usize::try_from(value).unwrap_or(0);
        let at = self.base.wrapping_add(word(header.p_vaddr));
        let count = word(header.p_memsz) / size_of::<Entry>();
        // SAFETY: a loaded object's dynamic section is readable and aligned,
        // and stays while the object is loaded.
        unsafe { core::slice::from_raw_parts(at as *const Entry, count) }
    }
}

/// Calls `visit` for each object, the program first, until it breaks. The
/// loader's list is locked meanwhile: nothing is unloaded.
pub(crate) fn each(visit: impl FnMut(&Object<'_>) -> ControlFlow<()>) {
    let mut state = State { visit, seen: 0 };
    let data = (&raw mut state).cast::<c_void>();
    let callback = callback_of(&state);
    // SAFETY: the callback takes this state, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(callback), data) };
}

struct State<F> {
    visit: F,
    seen: usize,
}

type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The callback for a state of this type.
fn callback_of<F: FnMut(&Object<'_>) -> ControlFlow<()>>(_: &State<F>) -> Callback {
    trampoline::<F>
}

unsafe extern "C" fn trampoline<F: FnMut(&Object<'_>) -> ControlFlow<()>>(
    info: *mut libc::dl_phdr_info,
    size: usize,
    state: *mut c_void,
) -> c_int {
    // SAFETY: what `each` passed, which nobody else uses meanwhile.
    let state = unsafe { &mut *state.cast::<State<F>>() };
    let knows_loads = size > offset_of!(libc::dl_phdr_info, dlpi_adds);
    // SAFETY: the loader gives a valid description.
    let info = unsafe { &*info };
    let name = match info.dlpi_name.is_null() {
        true => c"",
        // SAFETY: a C string of the loader's, which stays while the object is
        // loaded.
        false => unsafe { CStr::from_ptr(info.dlpi_name) },
    };
    let headers = match info.dlpi_phdr.is_null() {
        true => &[],
        // SAFETY: so many headers are there, while the object is loaded.
        false => unsafe {
            core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum))
        },
    };
    let object = Object {
        base: usize::try_from(info.dlpi_addr).unwrap_or(0),
        name,
        headers,
        is_program: state.seen == 0,
        loads: if knows_loads { info.dlpi_adds } else { 0 },
    };
    state.seen += 1;
    c_int::from((state.visit)(&object).is_break())
}
