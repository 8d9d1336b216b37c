//! The program and its libraries, as the dynamic loader knows them: the files that are
//! loaded ([`objects`]), the symbols that they define ([`symbols`]), the words that it
//! fills with addresses of others ([`relocations`]), names that are to mean ours
//! ([`rebind`]), and programs that bring a malloc which must stay ([`host_malloc`]). `lock`
//! tells whether its list may be asked for.
//!
//! **Invariants.** Tables are read where the loader has mapped them, and only `rebind`
//! writes to them. A name is found as the loader finds it. What a file does not tell is
//! `None`.
//!
//! **Locks.** None of ours. The loader has one, which it holds while it shows its list:
//! what looks at an object there is short, and calls nothing of the program's. The program's
//! own `dl_iterate_phdr` holds it as long as it likes: beside other threads it is not waited
//! for, but where the program loads a library, or calls what only such a one may have.
//!
//! **At a fork.** A thread that was in `dlopen` is not there in the child, so that the
//! loader's lock may be held there for ever: what a child may need is looked up before.

pub mod host_malloc;
pub(crate) mod lock;
pub mod objects;
pub mod rebind;
pub mod relocations;
pub mod symbols;
