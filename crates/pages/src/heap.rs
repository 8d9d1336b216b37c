//! Pages behind the extents of a heap: [`commit`] puts them there, from the asked size down
//! to base pages, and takes them back.
//!
//! **Invariants.** Hugetlb memory is populated before it is handed out, so that a missing
//! page is an error and no signal. A small heap and the first blocks of a thread get base
//! pages (`beginning`); once the heap has grown, these move up (`promote`).
//!
//! **Locks.** The gate is passed while pages change; a unit is marked as changing.
//!
//! **At a fork.** A thread that commits meanwhile gets no page of a pool.

mod beginning;
pub mod commit;
mod promote;
