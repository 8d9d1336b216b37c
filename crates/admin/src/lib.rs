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
//! * [`unfinished`]: what a run that is killed leaves to the next one.
//! * [`plan`]: the [`step`]s, made from two values without any input or output;
//!   [`shell`] prints them.
//! * [`apply`]: runs the steps on [`hugetools_model::Root`] and [`effects`].
//! * [`report`], [`hint`]: what each step found, wanted and got, and what to
//!   do next.
//! * [`listing`], [`persistent`]: what is shown.
//! * [`who`]: who holds the pages of the pools.
//! * [`stats`]: what the kernel counts, and how many huge pages could be had now.
//! * [`advice`], [`recommend`]: what is amiss, and what is recommended.
//! * [`bug_report`]: a machine, recorded for somebody else.
//! * [`document`]: everything as one JSON value.

pub mod abbrev;
pub mod advice;
pub mod apply;
pub mod args;
pub mod bug_report;
pub mod document;
pub mod effects;
pub mod hint;
pub mod listing;
pub mod live;
pub mod persistent;
pub mod plan;
pub mod recommend;
pub mod report;
pub mod request;
pub mod shell;
pub mod spec;
pub mod stats;
pub mod step;
pub mod unfinished;
pub mod who;
