//! The work of hugectl, from reading the arguments to starting the program.
//!
//! ```text
//! argv --args--> Args --request--> Request
//!   Run:     probe (reads, changes nothing) --plan--> Plan
//!            --> explain | print as shell or JSON | apply --> exec; with a report: fork, wait
//!   Emit:    probe --plan--> Plan --emit--> settings for another starter
//!   Status:  status --> Proof --> table | JSON
//!   Adopt:   adopt (memory --plan--> steps --apply--> report)
//!   Compare: the crate hugetools_compare
//! ```
//!
//! `plan` is a pure function of the request, the caller and the findings of `probe`. A start
//! changes the disk and the page cache only in `apply`, apart from the files for messages and
//! reports. No other module of this crate calls `apply`, and a dry run skips it. Only `wait` prints:
//! the report. Messages are returned as [`say::note::Note`]s and [`say::failure::Failure`]s.

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
