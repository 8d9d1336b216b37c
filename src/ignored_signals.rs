//! Ignores SIGPIPE and SIGXFSZ: writing a message to a closed pipe or past `ulimit -f` must not
//! kill the process.
#![expect(unsafe_code, reason = "sets signal actions")]

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

const WRITE_SIGNALS: [Signal; 2] = [Signal::SIGPIPE, Signal::SIGXFSZ];

/// The previous actions, restored on drop.
pub(crate) struct IgnoredSignals([Option<SigAction>; 2]);

impl IgnoredSignals {
    pub(crate) fn begin() -> IgnoredSignals {
        let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
        // SAFETY: ignoring a signal runs no code.
        IgnoredSignals(WRITE_SIGNALS.map(|signal| unsafe { sigaction(signal, &ignore) }.ok()))
    }
}

impl Drop for IgnoredSignals {
    fn drop(&mut self) {
        for (signal, previous) in WRITE_SIGNALS.into_iter().zip(&self.0) {
            if let Some(previous) = previous {
                // SAFETY: restores the previous action.
                let _ = unsafe { sigaction(signal, previous) };
            }
        }
    }
}
