//! Pages behind the extents of a heap: [`commit`] puts them there, from the asked size
//! down to base pages, and takes them back.
//!
//! **Invariants.** Hugetlb memory is populated before it is handed out, so that a
//! page that cannot be had is an error and no signal. A small heap takes no huge page
//! ([`crate::extent::usage`]); what began on base pages moves up once it has grown
//! ([`promote`]), and pages that hold little go back ([`half_empty`]); so do those of a block
//! that is being copied ([`drained`]). What is mapped for
//! pages of a pool and has none (`mapped_ahead`) is no data where the kernel would refuse
//! more.
//!
//! **Locks.** The gate is passed while pages change; a unit is marked as changing.
//!
//! **At a fork.** A thread that commits meanwhile gets no page of a pool.

pub mod commit;
pub mod drained;
pub mod half_empty;
mod mapped_ahead;
pub mod promote;
