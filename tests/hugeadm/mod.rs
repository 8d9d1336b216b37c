//! hugeadm.

mod apply;
mod dry_run;
mod growth;
mod killed;
mod live;
mod nodes;
mod options;
mod output;
mod peer;
mod peer_guest;
mod plan;
mod properties;
mod scripts;
mod together;
mod transcripts;
mod world;
