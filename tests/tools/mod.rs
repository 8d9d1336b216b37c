//! Tests of hugeedit, pagesize and ld.hugetlbfs, and of features that all tools share.

mod closed;
mod cross;
mod hugeedit;
mod install;
mod ld;
mod made;
mod pagesize;
mod place;
mod readme;
mod recipes;
mod segments;
mod shells;
mod stream;
mod terminal;
mod transcripts;
