//! hugeadm, from arguments to report:
//!
//! ```text
//! argv -> args -> request -> plan -> apply -> report
//!                              |
//!                              +---> shell (--dry-run)
//! ```
//!
//! Wings, from the ground up; each knows only those above it in this list, and begins
//! with what holds in it.
//!
//! | wing | what it is for |
//! |---|---|
//! | [`step`] | the steps that plans are made of; what a run that is killed leaves |
//! | [`effects`] | what is done to the machine besides its kernel files |
//! | [`recommend`] | what is recommended for a machine |
//! | [`args`] | the command line, nothing decided |
//! | [`request`] | everything checked against the machine before anything is done |
//! | [`plan`] | the steps, from two values without input or output; as commands of a shell |
//! | [`report`] | what each step found, wanted and got, and what to do next |
//! | [`apply`] | runs the steps on [`hugetools_model::Root`] and [`effects`] |
//! | [`who`] | who holds the pages of the pools |
//! | [`live`] | the real effects |
//! | [`listing`] | the tables |
//! | [`persistent`] | what brings the present state back at boot |
//! | [`stats`] | what the kernel counts, and how many huge pages could be had now |
//! | [`bug_report`] | a machine, recorded for somebody else |
//! | [`advice`] | what is amiss, and the command that mends it |
//! | [`document`] | everything as one JSON value |

pub mod advice;
pub mod apply;
pub mod args;
pub mod bug_report;
pub mod document;
pub mod effects;
pub mod listing;
pub mod live;
pub mod persistent;
pub mod plan;
pub mod recommend;
pub mod report;
pub mod request;
pub mod stats;
pub mod step;
pub mod who;
