//! Where huge pages come from inside a process.
//!
//! Modules, lowest first; each uses only modules above it in the table.
//!
//! | module | subject |
//! |---|---|
//! | [`sys`] | direct system calls |
//! | [`rt`] | replacements for libc: memcpy, locks, wait queues, messages |
//! | [`kernel`] | parsed kernel files; queries about mapped memory |
//! | [`config`] | settings from the environment |
//! | [`extent`] | our address space: use and backing of each huge page |
//! | [`policy`] | choice of page sizes, and messages about shortages |
//! | [`migrate`] | moves of live memory to other pages |
//! | [`heap`] | pages behind the heap |
//! | [`registry`] | tables of all memory that we handed out |
//! | [`next_touch`] | moves of memory to the node of the next thread that touches it |
//! | [`fork`] | private pool memory at forks |
//! | [`segment`] | the program's code, data and bss |
//! | [`vmops`] | the program's memory calls |
//!
//! This code runs inside other people's programs: it never calls malloc, never unwinds, holds no
//! lock while the program's code runs, and keeps `errno`.
#![cfg_attr(not(test), no_std)]

pub mod config;
pub mod extent;
pub mod fork;
pub mod heap;
pub mod kernel;
pub mod migrate;
pub mod next_touch;
pub mod policy;
pub mod registry;
pub mod rt;
pub mod segment;
pub mod sys;
pub mod vmops;

/// Aborts after a bug of ours, without a message: formatting itself may have failed.
#[cfg(not(test))]
#[panic_handler]
#[expect(unsafe_code, reason = "ends the process")]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}

/// Lets an unwinder pass our frames, which need no cleanup.
#[cfg(not(test))]
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a name that the linker looks for")]
extern "C" fn rust_eh_personality() -> core::ffi::c_int {
    /// `_URC_CONTINUE_UNWIND`
    const GO_ON: core::ffi::c_int = 8;
    GO_ON
}
