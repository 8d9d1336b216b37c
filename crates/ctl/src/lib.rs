//! hugectl, from its arguments to the program that it starts.
//!
//! ```text
//! argv --args--> Args --request--> Request
//!   Run:    probe (looks, changes nothing) --plan--> Plan
//!           --> print as shell | apply --> exec; with a report: wait
//!   Status: status --> Proof --> table | JSON
//!   Adopt:  adopt (memory --plan--> steps --apply--> report)
//! ```
//!
//! `plan` is a pure function of what `probe` found. Except for messages and reports, a start
//! changes the disk and the page cache only in `apply`, which no other module here calls: a dry run
//! skips it. Nothing here prints: messages are returned as [`say::note::Note`]s and
//! [`say::failure::Failure`]s.

pub mod adopt;
pub mod apply;
pub mod args;
pub mod caller;
pub mod emit;
pub mod explain;
mod files;
pub mod plan;
pub mod probe;
pub mod request;
pub mod say;
mod shell;
pub mod status;
mod sys;
pub mod wait;
