//! hugeadm, from arguments to report:
//!
//! ```text
//! argv -> args -> request -> plan -> apply -> report
//!                              |
//!                              +---> shell (--dry-run)
//! ```
//!
//! Modules in order of dependency: each uses only those above it. Module docs state invariants.
//!
//! | module | purpose |
//! |---|---|
//! | [`step`] | steps of plans |
//! | [`effects`] | operations other than reads and writes of kernel files |
//! | [`recommend`] | recommended values |
//! | [`args`] | parses the command line |
//! | [`request`] | checks everything against the machine in advance |
//! | [`plan`] | computes the steps without I/O, also as shell commands |
//! | [`report`] | results of the steps, with advice |
//! | [`apply`] | runs the steps on [`hugetools_model::Root`] and [`effects`] |
//! | [`listing`] | the tables, and who holds the pages of the pools |
//! | [`config`] | the file of pools, `hugetools.toml` |
//! | [`live`] | effects on the live machine |
//! | [`stats`] | the kernel's counters, and how many huge pages could be allocated now |
//! | [`bug_report`] | a recorded machine for bug reports |
//! | [`advice`] | problems, and commands that solve them |
//! | [`document`] | the output as one JSON value |

pub mod advice;
pub mod apply;
pub mod args;
pub mod bug_report;
pub mod config;
pub mod document;
pub mod effects;
pub mod listing;
pub mod live;
pub mod plan;
pub mod recommend;
pub mod report;
pub mod request;
pub mod stats;
pub mod step;
