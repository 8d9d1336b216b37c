//! The contract of the run-time libraries with the program that they live in:
//! it behaves as without them.
//!
//! Four rules, and whoever breaks one has broken a test here:
//!
//! 1. From `prepare` to parent and child nothing is lost and nobody waits for
//!    ever: this thread, its signal handlers, other libraries' handlers, other
//!    threads, the kernel (`forks`).
//! 2. Inside malloc and inside any hook there is a budget of
//!    system calls; no signal is raised, errno stays (`plain`, `memory`).
//! 3. What cannot be told is not taken for an answer: without `/proc`, without
//!    descriptors, with a status file of many groups (`forks`, `User::Crowd`).
//! 4. Nothing is populated, removed, moved or advised that we have not made
//!    (`shared`).
//!
//! How other libraries, loaders and mallocs get on with ours is `loading`.
//!
//! Each row of a table is a program of `tests/programs/contract` and the states
//! in which it is run: options of hugectl, pages of the pool (none, fewer than
//! the heap, once the heap but not twice, ample), users, libcs. The program
//! says `right`, or what is wrong; it is run plainly as well, which shows that
//! it asks for nothing but what every program gets. One that does not end has
//! failed. A newcomer's run takes one of the row's states, `.ci/run` each once,
//! one of more than 20 seconds (`HUGETOOLS_SECONDS`) all combinations.

mod forks;
mod loading;
mod memory;
mod plain;
pub(super) mod row;
mod run;
mod shared;
