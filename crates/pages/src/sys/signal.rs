//! Signals: one sent once more, and the stack for their handlers. Who blocks them is
//! in [`process`](super::process).

mod send;
mod stack;

pub use send::send_again;
pub use stack::{NoSignalStack, SignalStack, sigaltstack, signal_stack};
