//! Standard descriptors that are closed at the start, as by a shell's `>&-`.
//!
//! The next opened file would get such a number, and output would overwrite it. So a placeholder
//! takes each closed number. Reads and writes of it fail with the error of a closed descriptor. It
//! is close-on-exec, so a started program finds the descriptor closed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::stat::Mode;

/// Puts placeholders on closed standard descriptors. Must run before any file is opened.
pub fn hold() {
    hold_if_closed(io::stdin());
    hold_if_closed(io::stdout());
    hold_if_closed(io::stderr());
}

fn hold_if_closed(stream: impl AsFd) {
    if fcntl(stream.as_fd(), FcntlArg::F_GETFD).is_ok() {
        return;
    }
    // open() returns the lowest free number: this one, since the ones below it are open.
    let held = open("/", OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty());
    if let Ok(held) = held {
        if held.as_raw_fd() == stream.as_fd().as_raw_fd() {
            let _ = held.into_raw_fd();
        }
    }
}
