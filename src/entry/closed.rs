//! Standard descriptors that are closed at the start, as by a shell's `>&-`.
//!
//! The next file that is opened would get such a number, and what is meant for standard
//! output would go into that file. So each is held by a descriptor that can neither be
//! read nor written, the error being the same as of a closed one, and that ends at an
//! `exec`: a program that is started finds closed what was closed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd};

use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::stat::Mode;

/// Holds those that are closed, before anything is opened.
pub fn hold() {
    hold_if_closed(io::stdin());
    hold_if_closed(io::stdout());
    hold_if_closed(io::stderr());
}

fn hold_if_closed(stream: impl AsFd) {
    if fcntl(stream.as_fd(), FcntlArg::F_GETFD).is_ok() {
        return;
    }
    // The lowest number that is free: this one, since those below it are taken.
    let held = open("/", OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty());
    if let Ok(held) = held {
        if held.as_raw_fd() == stream.as_fd().as_raw_fd() {
            let _ = held.into_raw_fd();
        }
    }
}
