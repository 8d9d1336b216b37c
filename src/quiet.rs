//! A time in which a write raises no signal: a message must not kill who writes
//! it because its reader has gone, or because the file may grow no further.
#![expect(unsafe_code, reason = "sets actions of signals")]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// What a write may raise.
const RAISED: [Signal; 2] = [Signal::SIGPIPE, Signal::SIGXFSZ];

/// Such a time; it ends when this is dropped, with the actions as they were.
pub(crate) struct Quiet([Option<SigAction>; 2]);

impl Quiet {
    /// Begins it.
    pub(crate) fn begin() -> Quiet {
        let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
        // SAFETY: ignoring a signal runs no code.
        Quiet(RAISED.map(|signal| unsafe { sigaction(signal, &ignore) }.ok()))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        for (signal, before) in RAISED.into_iter().zip(&self.0) {
            if let Some(before) = before {
                // SAFETY: the action that was there.
                let _ = unsafe { sigaction(signal, before) };
            }
        }
    }
}
