//! The program and its libraries, as the loader knows them.
#![expect(unsafe_code, reason = "reads what the loader knows")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::offset_of;
use core::ops::{ControlFlow, Range};

use hugetools_pages::sys;

/// A loaded file.
#[derive(Debug)]
pub struct Object<'a> {
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
pub(crate) const STRTAB: i64 = 5;
pub(crate) const SYMTAB: i64 = 6;

/// `Elf64_Dyn`
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

impl Object<'_> {
    /// What was loaded with `base` added and begins at `start`; `None` where
    /// that is no 64-bit file.
    ///
    /// # Safety
    /// `start` must be where a file begins that the loader has mapped, and will
    /// not unmap while the object is in use.
    pub unsafe fn at(base: usize, start: usize) -> Option<Object<'static>> {
        let file = start as *const libc::Elf64_Ehdr;
        // SAFETY: as the caller says.
        let file = unsafe { file.as_ref() }?;
        if !file.e_ident.starts_with(b"\x7fELF\x02") {
            return None;
        }
        let at = start + usize::try_from(file.e_phoff).ok()?;
        let count = usize::from(file.e_phnum);
        // SAFETY: a file's program headers are mapped with its beginning.
        let headers = unsafe { core::slice::from_raw_parts(at as *const _, count) };
        Some(Object {
            base,
            name: c"",
            headers,
            is_program: false,
            loads: 0,
        })
    }

    /// The file that it was loaded from.
    pub(crate) fn file(&self) -> &CStr {
        match self.is_program {
            true => c"/proc/self/exe",
            false => self.name,
        }
    }

    /// Whether it is a copy of our libraries, this one or another.
    pub(crate) fn is_a_copy(&self) -> bool {
        self.address_of(c"__hugetools_library").is_some()
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

    /// What it calls itself, whatever its file is called.
    pub fn own_name(&self) -> Option<&CStr> {
        const SONAME: i64 = 14;
        let at = self.table(STRTAB)? + self.value(SONAME)?;
        // SAFETY: a C string in the object's table of strings, which stays
        // while the object is loaded.
        Some(unsafe { CStr::from_ptr(at as *const c_char) })
    }

    /// How the part of its file around an address is mapped, by its headers.
    pub fn protection_of(&self, addr: usize) -> Option<c_int> {
        let header = self.headers.iter().find(|header| {
            header.p_type == libc::PT_LOAD && self.range_of(header).contains(&addr)
        })?;
        let flags = [
            (libc::PF_R, libc::PROT_READ),
            (libc::PF_W, libc::PROT_WRITE),
            (libc::PF_X, libc::PROT_EXEC),
        ];
        let set = flags.iter().filter(|(flag, _)| header.p_flags & flag != 0);
        Some(set.fold(0, |all, (_, prot)| all | prot))
    }

    /// Does something that writes to a word which the loader may have made
    /// read-only after it had filled it. Nothing is done where that is not
    /// possible.
    pub fn with_writable(&self, addr: usize, write: impl FnOnce()) {
        let page = sys::page_size();
        let sealed = self.headers.iter().any(|header| {
            let range = self.range_of(header);
            let whole = range.start / page * page..range.end / page * page;
            header.p_type == libc::PT_GNU_RELRO && whole.contains(&addr)
        });
        let protect = |prot: c_int| {
            // SAFETY: a page of the object's data, which stays readable.
            unsafe { sys::mprotect(addr / page * page, page, prot) }
        };
        if !sealed {
            write();
        } else if protect(libc::PROT_READ | libc::PROT_WRITE).is_ok() {
            write();
            let _ = protect(libc::PROT_READ);
        }
    }

    /// Where what a header describes lies.
    fn range_of(&self, header: &libc::Elf64_Phdr) -> Range<usize> {
        let word = |value: u64| usize::try_from(value).unwrap_or(0);
        let start = self.base.wrapping_add(word(header.p_vaddr));
        start..start.saturating_add(word(header.p_memsz))
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
    pub fn is_ours(&self) -> bool {
        static HERE: u8 = 0;
        self.contains((&raw const HERE) as usize)
    }

    /// Whether an address lies in it.
    pub fn contains(&self, addr: usize) -> bool {
        let mut loads = self.headers.iter();
        loads.any(|header| header.p_type == libc::PT_LOAD && self.range_of(header).contains(&addr))
    }

    /// A number in the dynamic section.
    pub(crate) fn value(&self, tag: i64) -> Option<usize> {
        let mut entries = self.dynamic().iter();
        let value = entries.find(|entry| entry.tag == tag)?.value;
        usize::try_from(value).ok()
    }

    /// Where a table of the dynamic section lies.
    pub(crate) fn table(&self, tag: i64) -> Option<usize> {
        let [table] = self.tables_of([tag]);
        table
    }

    /// The same of several.
    pub(crate) fn tables_of<const N: usize>(&self, tags: [i64; N]) -> [Option<usize>; N] {
        let entries = self.dynamic();
        tags.map(|tag| {
            let value = entries.iter().find(|entry| entry.tag == tag)?.value;
            let table = usize::try_from(value).ok()?;
            // Some loaders have put its address there, others leave it as it was.
            Some(match table < self.base {
                true => self.base + table,
                false => table,
            })
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
pub fn each(visit: impl FnMut(&Object<'_>) -> ControlFlow<()>) {
    let mut state = State { visit, seen: 0 };
    let data = (&raw mut state).cast::<c_void>();
    let callback = callback_of(&state);
    // SAFETY: the callback takes this state, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(callback), data) };
}

/// Calls `visit` for each object behind this library, in the loader's order; not for
/// another copy of ours, which would look for the next one in turn.
pub(crate) fn each_behind_ours(mut visit: impl FnMut(&Object<'_>)) {
    let mut passed = false;
    each(|object| {
        if object.is_ours() {
            passed = true;
        } else if passed && !object.is_a_copy() {
            visit(object);
        }
        ControlFlow::Continue(())
    });
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
