//! hugeadm.

mod apply;
mod dry_run;
mod live;
mod properties;
mod transcripts;
mod world;
