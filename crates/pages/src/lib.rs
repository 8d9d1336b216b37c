//! Where huge pages come from inside a process.
//!
//! Modules, from the ground up; each uses only those above it.
//!
//! | module | subject |
//! |---|---|
//! | [`sys`] | direct system calls |
//! | [`rt`] | replacements for libc: memcpy, locks, wait queues, messages |
//! | [`kernel`] | parsed kernel files; mapped memory |
//! | [`config`] | settings from the environment |
//! | [`extent`] | our address space: use and backing of each huge page |
//! | [`policy`] | which pages are tried, and the messages when they fail |
//! | [`migrate`] | replacing pages under memory in use |
//! | [`heap`] | pages behind the heap |
//! | [`registry`] | all memory of ours, by address |
//! | [`next_touch`] | memory that follows the threads to their nodes |
//! | [`fork`] | private pool memory at forks |
//! | [`segment`] | the program's code, data and bss |
//! | [`vmops`] | the program's memory calls |
//!
//! All of it runs inside strangers' programs: it never allocates, never
//! unwinds, holds no lock while the program's code runs, and keeps `errno`.
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

/// Ends the process after a bug of ours, without a message: formatting may be what failed.
#[cfg(not(test))]
#[panic_handler]
#[expect(unsafe_code, reason = "ends the process")]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}

/// Unwinding passes our frames: there is nothing to clean up.
#[cfg(not(test))]
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a name that the linker looks for")]
extern "C" fn rust_eh_personality() -> core::ffi::c_int {
    /// `_URC_CONTINUE_UNWIND`
    const GO_ON: core::ffi::c_int = 8;
    GO_ON
}
