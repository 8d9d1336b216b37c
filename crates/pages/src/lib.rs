//! Where huge pages come from inside a process.
//!
//! * [`config`]: what the process was asked to do, [`keep`]t from its
//!   [`environment`]; [`facts`]: what the kernel
//!   offers; [`limits`] and [`cgroup`]: what others set; [`layout`] and
//!   [`luck`]: which pages follow from all that, and which could be had.
//! * [`quota`]: what this process may take of the pools, and has; `returned`: what
//!   they have again.
//! * [`place`]: on which memory nodes memory lies; [`wanted`]: where the
//!   program wants it.
//! * [`ordinary`]: what must not be on pages of a pool.
//! * [`pagemap`]: what stands behind memory that we did not hand out.
//! * [`window`]: reserved address space, divided into [`unit`](mod@unit)s and [`slices`],
//!   whose [`usage`] is counted; [`back`] puts
//!   pages behind them, from the asked size down to base pages, and takes them
//!   back; [`grown`] sees to a small beginning, which may [`move_up`], where the
//!   [`mapping`] is as it was; [`register`] knows all windows,
//!   and [`census`] counts what stands behind them.
//! * [`fork`]: nobody is killed for want of a huge page after a fork, and the
//!   child has all memory as it was; memory may [`rejoin`](fork::rejoin) later.
//!   [`move_down`] replaces hugetlb memory, by a [`private_copy`], where the program
//!   does something to it; a [`shield`] keeps others from writing meanwhile,
//!   [`freeze`] is the weakest; [`behind`] tells who cannot be kept from it. [`fault`]
//!   is the net below, [`segv`] its like for access rights, [`late`] knows late faults;
//!   system calls are made [`again`]. [`bell`], [`lock`] and [`gate`] have threads
//!   wait.
//! * [`grant`]: huge pages that the program asked for by name; [`plain`]: what
//!   it got in their place.
//! * [`registry`]: whose memory it is; [`vmops`]: what the program asks of it.
//! * [`segment`]: the program's own code, data and bss; [`required`]: what must be on
//!   huge pages.
//! * [`sys`], [`bits`], [`weak`], [`signal`]: the kernel and libc; [`mem`]: what
//!   we do not take from libc; [`say`]: messages, some [`aloud`], by an [`outlet`]; [`kin`]: whose
//!   process is whose; [`side_stack`]: room for what
//!   the program's stacks may have none for.
//!
//! All of it runs inside strangers' programs: it never allocates, never
//! unwinds, holds no lock while the program's code runs, and keeps `errno`.
#![cfg_attr(not(test), no_std)]

pub use fork::rejoin;

pub mod again;
pub mod aloud;
pub mod back;
pub mod behind;
pub mod bell;
pub mod bits;
pub mod census;
pub mod cgroup;
pub mod config;
pub mod environment;
pub mod facts;
pub mod fault;
pub mod file;
pub mod first_look;
pub mod fork;
pub mod freeze;
pub mod gate;
pub mod grant;
pub mod grown;
pub mod half_empty;
pub mod hugetlb;
pub mod keep;
pub mod kin;
pub mod late;
pub mod layout;
pub mod limits;
pub mod lock;
pub mod luck;
pub mod mapping;
pub mod mem;
pub mod move_down;
pub mod move_up;
pub mod ordinary;
pub mod outlet;
pub mod pagemap;
pub mod place;
pub mod plain;
pub mod populate;
pub mod private_copy;
pub mod quota;
pub mod register;
pub mod registry;
pub mod required;
pub(crate) mod returned;
pub mod say;
pub mod segment;
pub mod segv;
pub mod shield;
pub mod side_stack;
pub mod signal;
pub mod slices;
pub mod space;
pub mod spare;
pub mod sys;
pub mod thp;
pub mod unit;
pub mod usage;
pub mod vmops;
pub mod wanted;
pub mod weak;
pub mod window;

/// Ends the process after a fault of our own. No message: formatting is what
/// may have failed, and the signal tells where.
#[cfg(not(test))]
#[panic_handler]
#[expect(unsafe_code, reason = "ends the process")]
fn panic(_info: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: abort takes nothing and does not return.
    unsafe { libc::abort() }
}

/// What the precompiled core library refers to where nothing was optimised
/// away. Nothing unwinds here, so it is never called.
#[cfg(not(test))]
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "a name that the linker looks for")]
extern "C" fn rust_eh_personality() {}
