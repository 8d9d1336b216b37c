//! Functions that most programs call rarely: looked up at the first call, and all of them before
//! the second thread.
#![expect(unsafe_code, reason = "hands out functions by address")]

use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::rt::weak::function;

use super::{Next, take_from};
use crate::loader::objects;

pub(crate) static EXIT: Next = Next::named(c"exit");
pub(crate) static EXIT_AT_ONCE: Next = Next::named(c"_exit");
pub(crate) static SBRK: Next = Next::named(c"sbrk");
pub(crate) static GLIBC_SBRK: Next = Next::named(c"__sbrk");
pub(crate) static PTHREAD_ATFORK: Next = Next::named(c"pthread_atfork");
pub(crate) static PTHREAD_CREATE: Next = Next::named(c"pthread_create");
pub(crate) static PTHREAD_DETACH: Next = Next::named(c"pthread_detach");
pub(crate) static THRD_CREATE: Next = Next::named(c"thrd_create");
pub(crate) static GETSTACK: Next = Next::named(c"pthread_attr_getstack");
pub(crate) static GETSTACKSIZE: Next = Next::named(c"pthread_attr_getstacksize");
pub(crate) static GETGUARDSIZE: Next = Next::named(c"pthread_attr_getguardsize");
pub(crate) static GETATTR_DEFAULT: Next = Next::named(c"pthread_getattr_default_np");
pub(crate) static PTHREAD_SELF: Next = Next::named(c"pthread_self");

static ALL: [&Next; 13] = [
    &EXIT,
    &EXIT_AT_ONCE,
    &SBRK,
    &GLIBC_SBRK,
    &PTHREAD_ATFORK,
    &PTHREAD_CREATE,
    &PTHREAD_DETACH,
    &THRD_CREATE,
    &GETSTACK,
    &GETSTACKSIZE,
    &GETGUARDSIZE,
    &GETATTR_DEFAULT,
    &PTHREAD_SELF,
];

/// All were looked up: a missing one isn't looked up again.
static ALL_FOUND: AtomicBool = AtomicBool::new(false);

pub(crate) fn find_all() {
    find(&ALL);
    ALL_FOUND.store(true, Ordering::Release);
}

fn find(names: &[&Next]) {
    objects::each_behind_ours(|object| {
        take_from(object, names);
    });
    // libc precedes this library if the program loaded this one by `dlopen`.
    for next in names.iter().filter(|next| next.address() == 0) {
        next.resolve();
    }
}

impl Next {
    /// Returns the function; `None` if only this library has it.
    ///
    /// # Safety
    /// `F` must be the type of the function of that name.
    pub(crate) unsafe fn function<F: Copy>(&self) -> Option<F> {
        if self.address() == 0 && !ALL_FOUND.load(Ordering::Acquire) {
            find(&[self]);
        }
        // SAFETY: the address of the function of that name, or 0.
        unsafe { function(self.address()) }
    }
}

/// Calls the next function, or evaluates the expression after `else`.
macro_rules! call_later {
    ($next:expr, fn($($type:ty),*) -> $result:ty, ($($argument:expr),*), else $otherwise:expr) => {{
        type Next = unsafe extern "C" fn($($type),*) -> $result;
        // SAFETY: the address of the function of that name and type.
        match unsafe { $next.function::<Next>() } {
            // SAFETY: upheld by the caller.
            Some(next) => unsafe { next($($argument),*) },
            None => $otherwise,
        }
    }};
}

pub(crate) use call_later;
