//! The small tools: hugeedit, pagesize, ld.hugetlbfs.

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
mod signed;
mod stream;
mod transcripts;
