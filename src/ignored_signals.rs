//! Ignores signals that a write can raise. A closed pipe or `ulimit -f` must not kill the
//! writer of a message.
#![expect(unsafe_code, reason = "sets actions of signals")]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

const RAISED: [Signal; 2] = [Signal::SIGPIPE, Signal::SIGXFSZ];

/// The previous actions, restored on drop.
pub(crate) struct IgnoredSignals([Option<SigAction>; 2]);

impl IgnoredSignals {
    pub(crate) fn begin() -> IgnoredSignals {
        let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
        // SAFETY: ignoring a signal runs no code.
        IgnoredSignals(RAISED.map(|signal| unsafe { sigaction(signal, &ignore) }.ok()))
    }
}

impl Drop for IgnoredSignals {
    fn drop(&mut self) {
        for (signal, before) in RAISED.into_iter().zip(&self.0) {
            if let Some(before) = before {
                // SAFETY: restores the previous action.
                let _ = unsafe { sigaction(signal, before) };
            }
        }
    }
}
