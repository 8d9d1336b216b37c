//! The program and its libraries, from the loader's list.
#![expect(unsafe_code, reason = "reads what the loader knows")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;

use hugetools_pages::segment::load;

/// A loaded file.
#[derive(Debug)]
pub struct Object<'a> {
    /// Load bias.
    pub base: usize,
    /// Its name; empty for the program itself under glibc.
    pub name: &'a CStr,
    /// Its program headers.
    pub headers: &'a [libc::Elf64_Phdr],
    /// Whether it is the program itself.
    pub is_program: bool,
}

/// Tags of the dynamic section.
pub(crate) const STRTAB: i64 = 5;
pub(crate) const SYMTAB: i64 = 6;

/// `Elf64_Dyn`
#[repr(C)]
struct Entry {
    tag: i64,
    value: u64,
}

impl Object<'_> {
    /// Returns the path of its file.
    pub(crate) fn file(&self) -> &CStr {
        match self.is_program {
            true => c"/proc/self/exe",
            false => self.name,
        }
    }

    /// Whether it is this library or another copy.
    pub(crate) fn is_a_copy(&self) -> bool {
        self.address_of(c"__hugetools_library").is_some()
    }

    /// Whether it is the vDSO, which has no file. musl gives it no name.
    pub(crate) fn is_vdso(&self) -> bool {
        let name = self.name.to_bytes();
        !self.is_program && (name.is_empty() || name.starts_with(b"linux-vdso"))
    }

    /// Whether the loader relocates its code: it may not have finished.
    pub(crate) fn has_text_relocations(&self) -> bool {
        const TEXTREL: i64 = 22;
        const FLAGS: i64 = 30;
        const DF_TEXTREL: u64 = 4;
        let is_textrel = |entry: &Entry| {
            entry.tag == TEXTREL || entry.tag == FLAGS && entry.value & DF_TEXTREL != 0
        };
        self.dynamic().iter().any(is_textrel)
    }

    /// Returns its SONAME.
    pub(crate) fn own_name(&self) -> Option<&CStr> {
        const SONAME: i64 = 14;
        self.strings_of(SONAME).next()
    }

    /// Whether it needs (`DT_NEEDED`) a library whose name starts with `name`.
    pub(crate) fn needs(&self, name: &CStr) -> bool {
        const NEEDED: i64 = 1;
        let mut needed = self.strings_of(NEEDED);
        needed.any(|needed| needed.to_bytes().starts_with(name.to_bytes()))
    }

    /// Returns the strings with this tag of the dynamic section.
    fn strings_of(&self, tag: i64) -> impl Iterator<Item = &CStr> {
        let entries = self.dynamic().iter().filter(move |entry| entry.tag == tag);
        entries.filter_map(|entry| {
            let at = self.table(STRTAB)? + usize::try_from(entry.value).ok()?;
            // SAFETY: a C string in the object's string table, which stays while it is loaded.
            Some(unsafe { CStr::from_ptr(at as *const c_char) })
        })
    }

    /// Returns the segment that contains an address.
    fn load_of(&self, addr: usize) -> Option<&libc::Elf64_Phdr> {
        let word = |value: u64| usize::try_from(value).unwrap_or(0);
        self.headers.iter().find(|header| {
            let start = self.base.wrapping_add(word(header.p_vaddr));
            let range = start..start.saturating_add(word(header.p_memsz));
            header.p_type == libc::PT_LOAD && range.contains(&addr)
        })
    }

    /// Returns the protection of the segment that contains an address.
    pub(crate) fn protection_of(&self, addr: usize) -> Option<c_int> {
        self.load_of(addr).map(|header| load::prot(header.p_flags))
    }

    /// Whether it is this library.
    pub fn is_ours(&self) -> bool {
        static HERE: u8 = 0;
        self.contains((&raw const HERE) as usize)
    }

    /// Whether it contains an address.
    fn contains(&self, addr: usize) -> bool {
        self.load_of(addr).is_some()
    }

    /// Returns a value of the dynamic section.
    pub(crate) fn value(&self, tag: i64) -> Option<usize> {
        let mut entries = self.dynamic().iter();
        let value = entries.find(|entry| entry.tag == tag)?.value;
        usize::try_from(value).ok()
    }

    /// Returns the address of a table that the dynamic section names.
    pub(crate) fn table(&self, tag: i64) -> Option<usize> {
        let table = self.value(tag)?;
        // glibc adds the load bias to these values on most machines, musl never.
        Some(match table < self.base {
            true => self.base + table,
            false => table,
        })
    }

    /// Returns the entries of the dynamic section that the loader reads: those before `DT_NULL`.
    fn dynamic(&self) -> &[Entry] {
        let mut headers = self.headers.iter();
        let Some(header) = headers.find(|header| header.p_type == libc::PT_DYNAMIC) else {
            return &[];
        };
        let word = |value: u64| usize::try_from(value).unwrap_or(0);
        let at = self.base.wrapping_add(word(header.p_vaddr));
        let count = word(header.p_memsz) / size_of::<Entry>();
        // SAFETY: a loaded object's dynamic section is readable and aligned while it is loaded.
        let all = unsafe { core::slice::from_raw_parts(at as *const Entry, count) };
        all.split(|entry| entry.tag == 0).next().unwrap_or_default()
    }
}

/// Calls `visit` for each object, the program first, until it breaks. The loader's list is locked
/// meanwhile.
pub fn each(mut visit: impl FnMut(&Object<'_>) -> ControlFlow<()>) {
    let mut state = State {
        visit: &mut visit,
        seen: 0,
    };
    let data = (&raw mut state).cast::<c_void>();
    // SAFETY: the callback takes this state, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(callback), data) };
}

/// Calls `visit` for each object after this library in the list, except other copies of ours.
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

struct State<'a> {
    visit: &'a mut dyn FnMut(&Object<'_>) -> ControlFlow<()>,
    seen: usize,
}

unsafe extern "C" fn callback(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    state: *mut c_void,
) -> c_int {
    // SAFETY: the state that `each` passed; nobody else uses it.
    let state = unsafe { &mut *state.cast::<State<'_>>() };
    // SAFETY: the loader gives a valid description.
    let info = unsafe { &*info };
    let name = match info.dlpi_name.is_null() {
        true => c"",
        // SAFETY: the loader's C string, which stays while the object is loaded.
        false => unsafe { CStr::from_ptr(info.dlpi_name) },
    };
    let headers = match info.dlpi_phdr.is_null() {
        true => &[],
        // SAFETY: the loader's headers, which stay while the object is loaded.
        false => unsafe {
            core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum))
        },
    };
    let object = Object {
        base: usize::try_from(info.dlpi_addr).unwrap_or(0),
        name,
        headers,
        is_program: state.seen == 0,
    };
    state.seen += 1;
    c_int::from((state.visit)(&object).is_break())
}
