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
//! * [`pagemap`]: what stands behind memory that we did not hand out.
//! * [`window`]: reserved address space, divided into [`unit`](mod@unit)s and [`slices`],
//!   whose [`usage`] is counted; [`back`] puts
//!   pages behind them, from the asked size down to base pages, and takes them
//!   back; [`grown`] sees to a small beginning, which may [`move_up`], where the
//!   [`mapping`] is as it was; [`register`] knows all windows,
//!   and [`census`] counts what stands behind them.
//! * [`fork`]: nobody is killed for want of a huge page after a fork. What it is
//!   about are [`runs`]; they [`move_down`] where the process is alone in its
//!   memory, and else are copied [`for_child`], while [`still`] keeps others
//!   from writing; [`behind`] and [`others`] tell who there is. What the kernel
//!   copied in small parts may [`rejoin`] later. [`fault`] is the net below; [`freeze`] keeps
//!   writers out while memory is replaced by [`private_copy`], with [`segv`];
//!   [`recent`] knows late faults.
//! * [`grant`]: huge pages that the program asked for by name; [`plain`]: what
//!   it got in their place.
//! * [`segment`]: the program's own code, data and bss.
//! * [`sys`], [`bits`], [`weak`], [`signal`]: the kernel and libc; [`say`]: messages.
//!
//! All of it runs inside strangers' programs: it never allocates, never
//! unwinds, holds no lock while the program's code runs, and keeps `errno`.
#![cfg_attr(not(test), no_std)]

pub mod back;
pub mod behind;
pub mod bits;
pub mod census;
pub mod cgroup;
pub mod config;
pub mod environment;
pub mod facts;
pub mod fault;
pub mod file;
pub mod for_child;
pub mod fork;
pub mod freeze;
pub mod gate;
pub mod grant;
pub mod grown;
pub mod hugetlb;
pub mod keep;
pub mod layout;
pub mod limits;
pub mod lock;
pub mod luck;
pub mod mapping;
pub mod move_down;
pub mod move_up;
pub mod others;
pub mod pagemap;
pub mod place;
pub mod plain;
pub mod populate;
pub mod private_copy;
pub mod quota;
pub mod recent;
pub mod register;
pub mod rejoin;
pub(crate) mod returned;
pub mod runs;
pub mod say;
pub mod segment;
pub mod segv;
pub mod signal;
pub mod slices;
pub mod space;
pub mod still;
pub mod sys;
pub mod thp;
pub mod unit;
pub mod usage;
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
