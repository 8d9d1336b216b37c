//! `hugectl --compare`: runs a program in several ways, alternately, and says which is faster.
//!
//! ```text
//! Settings --schedule--> rounds, one run per way --stats--> Comparison --> table | JSON
//! ```
//!
//! The first run of each way is a warm-up: it samples memory, and its time doesn't count. Then each
//! round runs all ways in random order, so that a slow minute of the machine slows all of them.
//! Nothing here prints.

mod doubt;
mod json;
mod memory;
mod program;
mod result;
mod run;
mod schedule;
mod server;
pub mod settings;
pub mod stats;
mod sys;
mod table;
pub mod way;

pub use json::ComparisonJson;
pub use program::Failed;
pub use result::{Comparison, Progress, Value, WayResult};
pub use schedule::compare;
pub use table::text;
