//! Blocks that have an extent of their own, and are none of mimalloc's arenas': those
//! that it maps by itself, since they are too large ([`mapped`]), those that `realloc` lets
//! grow in place ([`growing`]), and such as are aligned to huge pages ([`aligned`]). Whether
//! one may be had at all [`overcommit`] says.
//!
//! **Invariants.** A block begins where its extent begins, and all that it may use is
//! committed. Where no extent or page can be had the block is refused, or made otherwise,
//! and everything is as before. There are so few that the register of extents has places
//! for the heap's own.
//!
//! **Locks.** None: counts are atomic, and an extent is its block's alone.
//!
//! **At a fork.** They are extents of the heap: see `hugetools_pages::fork`.

pub(crate) mod aligned;
pub(crate) mod growing;
pub(crate) mod mapped;
pub(crate) mod overcommit;
