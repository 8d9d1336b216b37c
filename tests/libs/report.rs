//! What a report says, at whichever end, and where it goes; and where what is said
//! besides goes.

mod begins;
mod ends;
mod messages;
mod out_of_memory;
mod own_memory;
mod parent;
mod report_file;
mod staying;
