//! Memory that the program asks for by name: `get_huge_pages` and its like.
//!
//! **Invariants.** Each is an extent of its own, known by the address that was handed
//! out ([`region`]); what the program then does to it ([`change`]) is as for any mapping.
//! What was got in the place of huge pages is a [`fallback`], known likewise.
//!
//! **Locks.** A turn for the table of each kind.
//!
//! **At a fork.** As memory of the heap; the tables are copied.

pub mod change;
pub mod fallback;
pub mod region;
#[cfg(test)]
mod tests;
