//! Where huge pages come from inside a process.
//!
//! Wings, from the ground up; each knows only those above it in this list, and begins
//! with a page of text.
//!
//! | module | what it is for |
//! |---|---|
//! | [`sys`] | system calls, made directly |
//! | [`rt`] | what we do not take from libc: bytes, locks, waiting, messages, stacks |
//! | [`kernel`] | what the kernel says, in its files and of mapped memory |
//! | [`config`] | what the process was asked to do, from its environment |
//! | [`extent`] | address space that is ours, what is in use of it, and on which pages |
//! | [`policy`] | which pages are tried, and what is said when they cannot be had |
//! | [`migrate`] | other pages in the place of memory that is in use |
//! | [`heap`] | pages behind the extents of a heap |
//! | [`registry`] | whose memory it is |
//! | [`fork`] | nobody is killed for want of a huge page after a fork |
//! | [`segment`] | the program's own code, data and bss |
//! | [`vmops`] | what the program asks of all this memory |
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
pub mod policy;
pub mod registry;
pub mod rt;
pub mod segment;
pub mod sys;
pub mod vmops;

/// Ends the process after a fault of our own. No message: formatting is what
/// may have failed, and the signal tells where.
#[cfg(not(test))]
#[panic_handler]
#[expect(unsafe_code, reason = "ends the process")]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}

/// What is to be done in our functions where a thread of the program's ends by unwinding
/// its stack, or an exception of its own passes: to go on, since there is nothing to be
/// cleaned up. Ours lie in the way where a thread begins; nothing of ours unwinds.
#[cfg(not(test))]
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a name that the linker looks for")]
extern "C" fn rust_eh_personality() -> core::ffi::c_int {
    /// `_URC_CONTINUE_UNWIND`
    const GO_ON: core::ffi::c_int = 8;
    GO_ON
}
