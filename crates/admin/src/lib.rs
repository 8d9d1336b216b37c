//! hugeadm, from arguments to report:
//!
//! ```text
//! argv -> args -> request -> plan -> apply -> report
//!                              |
//!                              +---> shell (--dry-run)
//! ```
//!
//! * [`abbrev`], [`args`]: the command line, nothing decided.
//! * [`spec`], [`request`]: everything checked against the machine before
//!   anything is done.
//! * [`plan`]: the steps, made from two values without any input or output;
//!   [`shell`] prints them.
//! * [`apply`]: runs the steps on [`hugetools_model::Root`] and [`effects`].
//! * [`report`], [`hint`]: what each step found, wanted and got, and what to
//!   do next.
//! * [`listing`], [`document`]: the tables, and everything as one JSON value.

pub mod abbrev;
pub mod apply;
pub mod args;
pub mod document;
pub mod effects;
pub mod hint;
pub mod listing;
pub mod live;
pub mod plan;
pub mod report;
pub mod request;
pub mod shell;
pub mod spec;
