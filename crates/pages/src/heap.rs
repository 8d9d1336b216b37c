//! Pages behind the heap, from the requested size down to base pages: [`commit`] provides them and
//! takes them back; `big_page` provides hugetlb pages larger than a unit.
//!
//! **Invariants.** Hugetlb memory is populated before it is handed out, so that a missing page
//! is an error, not a signal. A small heap and the first blocks of a thread get base pages
//! (`small_heap`).
//!
//! **Locks.** A thread passes the gate and marks the unit busy before it changes pages.
//!
//! **At a fork.** A thread that commits meanwhile gets no pool page.

mod big_page;
pub mod commit;
mod small_heap;
