//! The report's file. It is opened at the start: the program may drop rights or change its root.

use core::ffi::c_int;
use core::fmt;

use hugetools_contract::env::Report;
use hugetools_contract::report::Proof;
use hugetools_pages::config;
use hugetools_pages::rt::kept_file::KeptFile;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::rt::outlet;
use hugetools_pages::sys::{self, Errno, File, Result};

use crate::rt::scratch::Text;

/// The open file.
static REPORT: KeptFile = KeptFile::none();

/// Opens the file at the start.
pub(crate) fn prepare() {
    let kept = open().and_then(Result::ok).and_then(File::with_high_number);
    if let Some(file) = kept {
        REPORT.keep_open(file);
    }
}

/// Opens the file; `None` if reports go elsewhere.
fn open() -> Option<Result<File>> {
    let path = config::report_path()?;
    // Without a reader, a FIFO is an error.
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NONBLOCK | libc::O_NOCTTY;
    Some(File::open_mode(path, flags, 0o666))
}

/// Formats a report, for a file always as JSON.
pub(crate) fn write(proof: &Proof<'_>, text: &mut Text) -> fmt::Result {
    match config::get().report {
        Some(Report::Terminal { json: false, .. }) => proof.write_table(text),
        _ => proof.write_json(text),
    }
}

/// Sends a report. A file gets one write, so that reports of several processes don't mix.
pub(crate) fn send(text: &[u8]) {
    if let Err(error) = try_send(text) {
        lost("opened", error);
    }
}

fn try_send(text: &[u8]) -> Result<()> {
    if let Some(fd) = REPORT.get() {
        append(fd, text);
        return Ok(());
    }
    match open() {
        None => outlet::write(text),
        Some(file) => append(file?.fd(), text),
    }
    Ok(())
}

/// Says that the report is lost.
fn lost(verb: &str, Errno(number): Errno) {
    let path = config::report_path().and_then(|path| path.to_str().ok());
    let file = path.unwrap_or("its file");
    let user = sys::geteuid();
    say(
        Level::Warning,
        format_args!("no report: {file} cannot be {verb} by user {user} (errno {number})"),
    );
}

/// Appends; suppresses SIGPIPE and SIGXFSZ.
fn append(fd: c_int, text: &[u8]) {
    if let Err(error) = sys::write_quietly(fd, text) {
        lost("written", error);
    }
}
