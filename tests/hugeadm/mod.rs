//! hugeadm.

mod apply;
mod dry_run;
mod live;
mod transcripts;
