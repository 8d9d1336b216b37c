//! Clocks, read through the page of code that the kernel maps into each process
//! (vDSO): without a system call, and not through libc's `clock_gettime`, before
//! which others stand (libfaketime).
#![expect(
    unsafe_code,
    reason = "reads the headers of the vDSO and calls a function of it"
)]

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::call::call;
use crate::sys::cast::extended;

/// Milliseconds of a clock that only goes forward.
pub fn now() -> u64 {
    milliseconds(libc::CLOCK_MONOTONIC)
}

/// The same as of the last tick, a few milliseconds ago: cheaper.
pub fn about_now() -> u64 {
    milliseconds(libc::CLOCK_MONOTONIC_COARSE)
}

/// Milliseconds since 1970.
pub fn wall_clock() -> u64 {
    milliseconds(libc::CLOCK_REALTIME)
}

/// Milliseconds since the machine was started, sleep included.
pub fn since_boot() -> u64 {
    milliseconds(libc::CLOCK_BOOTTIME)
}

fn milliseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    read(clock, &mut time);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec) * 1000 + part(time.tv_nsec) / 1_000_000
}

/// `clock_gettime(2)`; the time is left alone where there is no such clock.
fn read(clock: libc::clockid_t, time: &mut libc::timespec) {
    type ClockGettime = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;
    let function = function();
    if function != ABSENT {
        // SAFETY: the address of the function of that name.
        let gettime = unsafe { core::mem::transmute::<usize, ClockGettime>(function) };
        // SAFETY: a variable of its type.
        if unsafe { gettime(clock, time) } == 0 {
            return;
        }
    }
    let time = core::ptr::from_mut(time) as usize;
    let _ = call(libc::SYS_clock_gettime, [extended(clock), time, 0, 0, 0, 0]);
}

const UNKNOWN: usize = 0;
const ABSENT: usize = 1;

/// The vDSO's function, found once; [`ABSENT`] where there is none.
#[inline]
fn function() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(UNKNOWN);
    match KNOWN.load(Ordering::Relaxed) {
        UNKNOWN => {
            // SAFETY: the kernel's own image, which stays.
            let found = unsafe { find() }.unwrap_or(ABSENT);
            KNOWN.store(found, Ordering::Relaxed);
            found
        }
        known => known,
    }
}

/// What the kernel calls it.
const NAME: &CStr = match cfg!(any(target_arch = "x86_64", target_arch = "riscv64")) {
    true => c"__vdso_clock_gettime",
    false => c"__kernel_clock_gettime",
};

/// A symbol of an ELF file of 64 bits.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// Looks the function up among the dynamic symbols.
///
/// # Safety
/// The auxiliary vector must be the kernel's.
#[cold]
unsafe fn find() -> Option<usize> {
    // SAFETY: getauxval takes any number.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    let base = usize::try_from(base).ok().filter(|base| *base != 0)?;
    // SAFETY: as the caller says; so for all that follows.
    let image = unsafe { Image::at(base) }?;
    (0..image.count).find_map(|index| {
        let symbol = (image.symbols + index * size_of::<Symbol>()) as *const Symbol;
        // SAFETY: one of so many symbols.
        let symbol = unsafe { &*symbol };
        let name = (image.strings + symbol.name as usize) as *const c_char;
        // SAFETY: one of the image's strings.
        let name = unsafe { CStr::from_ptr(name) };
        let is_it = symbol.section != 0 && name == NAME;
        let address = usize::try_from(symbol.value)
            .ok()?
            .wrapping_add(image.slide);
        is_it.then_some(address)
    })
}

/// What of the vDSO is needed.
struct Image {
    /// What is added to its addresses.
    slide: usize,
    symbols: usize,
    /// How many symbols there are.
    count: usize,
    strings: usize,
}

impl Image {
    /// # Safety
    /// The image must lie at `base`.
    unsafe fn at(base: usize) -> Option<Image> {
        const PROGRAM_HEADERS: usize = 32;
        const HEADER_COUNT: usize = 56;
        const HEADER_SIZE: usize = 56;
        const LOAD: u64 = 1;
        const DYNAMIC: u64 = 2;
        let headers = base + word(base + PROGRAM_HEADERS);
        let count = word(base + HEADER_COUNT) & 0xffff;
        let (mut slide, mut dynamic) = (None, None);
        for header in (0..count).map(|index| headers + index * HEADER_SIZE) {
            let (offset, address) = (word(header + 8), word(header + 16));
            match word(header) as u64 & 0xffff_ffff {
                LOAD if slide.is_none() => slide = Some((base + offset).wrapping_sub(address)),
                DYNAMIC => dynamic = Some(base + offset),
                _ => {}
            }
        }
        Image::with(slide?, dynamic?)
    }

    /// Goes through the dynamic section.
    fn with(slide: usize, dynamic: usize) -> Option<Image> {
        const HASH: usize = 4;
        const STRINGS: usize = 5;
        const SYMBOLS: usize = 6;
        const GNU_HASH: usize = 0x6fff_fef5;
        let (mut strings, mut symbols, mut count) = (0, 0, None);
        let mut at = dynamic;
        while word(at) != 0 {
            let address = word(at + 8).wrapping_add(slide);
            match word(at) {
                STRINGS => strings = address,
                SYMBOLS => symbols = address,
                HASH => count = Some(count_of(address)),
                GNU_HASH if count.is_none() => count = Some(gnu_count_of(address)),
                _ => {}
            }
            at += 16;
        }
        (strings != 0 && symbols != 0).then_some(Image {
            slide,
            symbols,
            count: count?,
            strings,
        })
    }
}

/// How many symbols a table of hashes says that there are. s390x has words of
/// 64 bits there.
fn count_of(table: usize) -> usize {
    match cfg!(target_arch = "s390x") {
        true => word(table + 8),
        false => half(table + 4),
    }
}

/// The same of a table in GNU's form: one more than the last of its longest
/// chain.
fn gnu_count_of(table: usize) -> usize {
    let (buckets, first, bloom) = (half(table), half(table + 4), half(table + 8));
    let buckets_at = table + 16 + bloom * 8;
    let chains = buckets_at + buckets * 4;
    let last = (0..buckets)
        .map(|bucket| half(buckets_at + bucket * 4))
        .max();
    let mut last = last.unwrap_or(0);
    if last < first {
        return first;
    }
    while half(chains + (last - first) * 4) & 1 == 0 {
        last += 1;
    }
    last + 1
}

fn word(at: usize) -> usize {
    // SAFETY: within the vDSO's image, aligned as the format says.
    unsafe { (at as *const usize).read_unaligned() }
}

fn half(at: usize) -> usize {
    // SAFETY: likewise.
    unsafe { (at as *const u32).read_unaligned() as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_clock_is_found_and_goes_forward() {
        assert_ne!(function(), ABSENT);
        let mut kernel = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let clock = extended(libc::CLOCK_MONOTONIC);
        let at = core::ptr::from_mut(&mut kernel) as usize;
        let before = now();
        call(libc::SYS_clock_gettime, [clock, at, 0, 0, 0, 0]).unwrap();
        let asked = u64::try_from(kernel.tv_sec * 1000 + kernel.tv_nsec / 1_000_000).unwrap();
        assert!((before..=now()).contains(&asked));
        assert!(about_now() <= now() && about_now() + 1000 > now());
    }
}
