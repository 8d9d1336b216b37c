//! The C interface: what a program linked with `-lhugetlbfs` calls.
//!
//! * [`exports`]: the functions, a line each; `calls`: the same functions as
//!   the whole process knows them. Where one of them needs another it calls
//!   that, so that a program may put its own in the place of any.
//! * `sizes`, `mounts`, `files`: which pages there are and where; `listings`
//!   are the kernel's lists, opened as a program could have done it.
//! * `regions`: memory; `color` shifts it by cache lines; `stray` is for
//!   pointers that we know nothing of.
//!
//! All of it is found out when it is first asked for: a program that only uses
//! shared memory, or nothing at all, pays nothing for it at its start. No lock
//! of ours is held while another public function, or `open`, runs: they may be
//! the program's own.
//!
//! What `get_huge_pages` hands out is private hugetlb memory, with the same
//! promises as the heap's: see `hugetools_pages::grant`.

mod calls;
mod color;
pub mod exports;
mod files;
mod listings;
mod mounts;
mod regions;
mod sizes;
mod stray;
