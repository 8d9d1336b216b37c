//! hugeadm.

mod apply;
mod dry_run;
mod live;
mod output;
mod plan;
mod properties;
mod transcripts;
mod world;
