//! hugeadm.

mod apply;
mod dry_run;
mod growth;
mod killed;
mod live;
mod nodes;
mod options;
mod output;
mod plan;
mod properties;
mod scripts;
mod together;
mod transcripts;
mod world;
