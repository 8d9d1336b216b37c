//! What `malloc_stats` and `malloc_info` write, in the form that glibc's have,
//! with the huge pages besides.
#![expect(unsafe_code, reason = "writes to libc's streams")]

use core::ffi::{c_char, c_int, c_void};
use core::fmt::{self, Write};

use crate::stats::figures::Figures;

unsafe extern "C" {
    fn fputs(text: *const c_char, stream: *mut c_void) -> c_int;
    static stderr: *mut c_void;
}

/// Text on the stack, ended by a zero byte; what does not fit is cut off.
struct Page {
    bytes: [u8; Page::ROOM],
    len: usize,
}

impl Page {
    const ROOM: usize = 4096;

    /// Writes a text to a stream of libc's; whether that succeeded.
    fn put(stream: *mut c_void, text: impl FnOnce(&mut Page) -> fmt::Result) -> bool {
        let mut page = Page {
            bytes: [0; Page::ROOM],
            len: 0,
        };
        // SAFETY: a stream of libc's, and a text that ends with a zero byte.
        text(&mut page).is_ok() && unsafe { fputs(page.bytes.as_ptr().cast(), stream) } >= 0
    }
}

impl Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        let room = self.bytes[..Page::ROOM - 1].get_mut(self.len..end);
        room.ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// `malloc_stats(3)`: to standard error.
pub(crate) fn stats() {
    let figures = Figures::take();
    // SAFETY: a word of libc's, read as a whole.
    let stream = unsafe { stderr };
    let _ = Page::put(stream, |page| write_stats(page, &figures));
}

fn write_stats(out: &mut Page, figures: &Figures) -> fmt::Result {
    let line = |out: &mut Page, name: &str, value: usize| writeln!(out, "{name:<16} = {value:>10}");
    writeln!(out, "Arena 0:")?;
    line(out, "system bytes", figures.arenas)?;
    line(out, "in use bytes", figures.used)?;
    writeln!(out, "Total (incl. mmap):")?;
    line(out, "system bytes", figures.arenas + figures.large_bytes)?;
    line(out, "in use bytes", figures.used + figures.large_bytes)?;
    line(out, "mmap regions", figures.large)?;
    line(out, "mmap bytes", figures.large_bytes)?;
    line(out, "hugetlb bytes", figures.hugetlb)?;
    line(out, "thp bytes", figures.transparent)
}

/// `malloc_info(3)`: 0, an error number, or -1 with `errno` set by the stream.
pub(crate) fn info(options: c_int, stream: *mut c_void) -> c_int {
    if options != 0 {
        return libc::EINVAL;
    }
    let figures = Figures::take();
    match Page::put(stream, |page| write_info(page, &figures)) {
        true => 0,
        false => -1,
    }
}

fn write_info(out: &mut Page, figures: &Figures) -> fmt::Result {
    let large = (figures.large, figures.large_bytes);
    let sum = figures.arenas + figures.large_bytes;
    writeln!(
        out,
        "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>"
    )?;
    write_free(out, figures)?;
    write_sizes(out, "system", "current", figures.arenas)?;
    write_sizes(out, "system", "max", figures.peak)?;
    write_aspace(out, figures)?;
    writeln!(out, "</heap>")?;
    write_free(out, figures)?;
    writeln!(
        out,
        "<total type=\"mmap\" count=\"{}\" size=\"{}\"/>",
        large.0, large.1
    )?;
    write_sizes(out, "system", "current", sum)?;
    write_sizes(out, "system", "max", figures.peak.max(sum))?;
    write_sizes(out, "system", "hugetlb", figures.hugetlb)?;
    write_sizes(out, "system", "thp", figures.transparent)?;
    write_aspace(out, figures)?;
    writeln!(out, "</malloc>")
}

fn write_free(out: &mut Page, figures: &Figures) -> fmt::Result {
    writeln!(out, "<total type=\"fast\" count=\"0\" size=\"0\"/>")?;
    writeln!(
        out,
        "<total type=\"rest\" count=\"{}\" size=\"{}\"/>",
        figures.free_blocks,
        figures.free()
    )
}

fn write_aspace(out: &mut Page, figures: &Figures) -> fmt::Result {
    write_sizes(out, "aspace", "total", figures.managed)?;
    write_sizes(out, "aspace", "mprotect", figures.arenas)
}

fn write_sizes(out: &mut Page, element: &str, kind: &str, bytes: usize) -> fmt::Result {
    writeln!(out, "<{element} type=\"{kind}\" size=\"{bytes}\"/>")
}
