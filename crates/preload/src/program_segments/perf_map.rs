//! `/tmp/perf-PID.map`: symbols of copied code for perf(1).
#![expect(unsafe_code, reason = "maps the file that holds the symbols")]

use core::ffi::CStr;
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::rt::path::Path;
use hugetools_pages::segment::load::Load;
use hugetools_pages::segment::symbols;
use hugetools_pages::sys::{self, File};

/// This process has created its file.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Adds the functions of an executable segment of `file`, loaded at `base`. Without symbols, or if
/// the file can't be written, perf shows no names.
pub(crate) fn add(file: &CStr, base: usize, load: &Load) {
    if load.prot & libc::PROT_EXEC == 0 {
        return;
    }
    if let (Some(symbols), Some(list)) = (Mapped::open(file), open()) {
        let mut lines = Lines::new(list);
        let _ = write_functions(&mut lines, symbols.bytes(), base, load);
        lines.flush();
    }
}

fn write_functions(lines: &mut Lines, file: &[u8], base: usize, load: &Load) -> fmt::Result {
    for function in symbols::functions(file) {
        let addr = usize::try_from(function.addr).unwrap_or(usize::MAX);
        let start = base.wrapping_add(addr);
        if load.range.contains(&start) {
            let name = core::str::from_utf8(function.name).unwrap_or("?");
            writeln!(lines, "{start:x} {:x} {name}", function.size)?;
        }
    }
    Ok(())
}

/// Opens the map. In `/tmp` anyone may have created the file: it is removed, never written to.
fn open() -> Option<File> {
    let path = Path::of(format_args!("/tmp/perf-{}.map", sys::getpid()))?;
    let path = path.c_str();
    let write = libc::O_WRONLY | libc::O_APPEND | libc::O_NOFOLLOW;
    if BEGUN.swap(true, Ordering::Relaxed) {
        return File::open(path, write).ok();
    }
    let _ = sys::unlink(path);
    File::open_mode(path, write | libc::O_CREAT | libc::O_EXCL, 0o644).ok()
}

struct Mapped {
    addr: usize,
    len: usize,
}

impl Mapped {
    fn open(path: &CStr) -> Option<Mapped> {
        let file = File::open(path, libc::O_RDONLY).ok()?;
        let len = file.size().filter(|len| *len > 0)?;
        let flags = libc::MAP_PRIVATE;
        // SAFETY: a new mapping.
        let addr = unsafe { sys::mmap(0, len, libc::PROT_READ, flags, file.fd(), 0) }.ok()?;
        Some(Mapped { addr, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped with this length. A file in use is replaced, not truncated.
        unsafe { core::slice::from_raw_parts(self.addr as *const u8, self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: our own mapping, without references.
        let _ = unsafe { sys::munmap(self.addr, self.len) };
    }
}

/// Buffered lines.
struct Lines {
    file: File,
    buffer: [u8; 4096],
    len: usize,
}

impl Lines {
    fn new(file: File) -> Lines {
        Lines {
            file,
            buffer: [0; 4096],
            len: 0,
        }
    }

    fn flush(&mut self) {
        let (fd, text) = (self.file.fd(), &self.buffer[..self.len]);
        // Suppresses SIGXFSZ.
        let _ = sys::write_quietly(fd, text);
        self.len = 0;
    }
}

impl Write for Lines {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.as_bytes().chunks(self.buffer.len()) {
            if self.len + part.len() > self.buffer.len() {
                self.flush();
            }
            self.buffer[self.len..self.len + part.len()].copy_from_slice(part);
            self.len += part.len();
        }
        Ok(())
    }
}
