//! New threads. If huge pages are requested for stacks, a thread made by `pthread_create` prepares
//! its stack before its function runs.
//!
//! A new mapping holds the function and its argument; the thread unmaps it first. `pthread_exit`
//! and exceptions unwind through [`run_thread`].
#![expect(
    unsafe_code,
    reason = "exports functions of libc and calls them by address"
)]

use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_pages::fork::admission;
use hugetools_pages::segment::stack;
use hugetools_pages::sys;

use crate::api::next_touch;
use crate::loader::lock;
use crate::next::Next;
use crate::next::later::{
    self, GETATTR_DEFAULT, GETGUARDSIZE, GETSTACK, GETSTACKSIZE, PTHREAD_CREATE, PTHREAD_SELF,
    THRD_CREATE, call_later,
};
use crate::program_segments;

/// A thread's function.
type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

type Attributes = libc::pthread_attr_t;

/// `thrd_error` of C11, in glibc and musl.
const THRD_ERROR: c_int = 2;

#[derive(Debug, Clone, Copy)]
struct Task {
    start: Start,
    argument: *mut c_void,
    shape: StackShape,
}

/// Lengths of a stack and its guard in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StackShape {
    len: usize,
    guard: usize,
}

/// Called before the program creates a thread. The first call looks up all functions: usually no
/// other thread exists yet that could hold the loader's lock.
fn before_create() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Relaxed) && !DONE.swap(true, Ordering::Relaxed) {
        program_segments::libraries_loaded();
        later::find_all();
        lock::note_threads();
    }
    admission::before_threads();
    next_touch::before_create();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const Attributes,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Call =
        unsafe extern "C" fn(*mut libc::pthread_t, *const Attributes, Start, *mut c_void) -> c_int;
    // SAFETY: libc's prototype.
    let Some(next) = (unsafe { PTHREAD_CREATE.function::<Call>() }) else {
        return libc::EAGAIN;
    };
    before_create();
    let shape = match stack::prepares_threads() {
        // SAFETY: upheld by the caller.
        true => unsafe { shape(attributes) },
        false => None,
    };
    if shape.is_some_and(|StackShape { len, guard }| !stack::may_start(len, guard)) {
        return libc::EAGAIN;
    }
    let task = shape.and_then(|shape| {
        store(Task {
            start,
            argument,
            shape,
        })
    });
    let Some(task) = task else {
        // SAFETY: upheld by the caller.
        return unsafe { next(thread, attributes, start, argument) };
    };
    // SAFETY: likewise; `run_thread` calls the program's function.
    let result = unsafe { next(thread, attributes, run_thread, task.cast()) };
    if result != 0 {
        // SAFETY: stored above, and no thread has it.
        unsafe { take(task) };
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    start: *const c_void,
    argument: *mut c_void,
) -> c_int {
    before_create();
    call_later!(
        THRD_CREATE,
        fn(*mut libc::pthread_t, *const c_void, *mut c_void) -> c_int,
        (thread, start, argument),
        else THRD_ERROR
    )
}

/// Stores a task in a new mapping.
fn store(task: Task) -> Option<*mut Task> {
    let stored = sys::map_new(size_of::<Task>()).ok()? as *mut Task;
    // SAFETY: a new mapping of that length.
    unsafe { stored.write(task) };
    Some(stored)
}

/// Prepares the new thread's stack, then calls the program's function.
///
/// # Safety
/// `task` must come from [`store`], for this thread.
unsafe extern "C-unwind" fn run_thread(task: *mut c_void) -> *mut c_void {
    // SAFETY: upheld by the caller.
    let task = unsafe { take(task.cast()) };
    let StackShape { len, guard } = task.shape;
    if let Some(end) = thread_descriptor() {
        stack::prepare_thread(end, len, guard);
    }
    // SAFETY: the program's function and argument.
    unsafe { (task.start)(task.argument) }
}

/// Unmaps a task and returns it.
///
/// # Safety
/// `stored` must come from [`store`]; it is invalid afterwards.
unsafe fn take(stored: *mut Task) -> Task {
    // SAFETY: upheld by the caller.
    let task = unsafe { stored.read() };
    // SAFETY: likewise.
    let _ = unsafe { sys::munmap(stored as usize, size_of::<Task>()) };
    task
}

/// Returns the address of libc's thread descriptor, rounded up to a page: above the stack in use.
fn thread_descriptor() -> Option<usize> {
    type Call = extern "C" fn() -> usize;
    // SAFETY: libc's prototype.
    let pthread_self = unsafe { PTHREAD_SELF.function::<Call>()? };
    // In glibc and musl this is the descriptor's address.
    pthread_self().checked_next_multiple_of(sys::page_size())
}

/// Returns the lengths of the stack and guard that libc will allocate. `None` if the program
/// provides the stack, the stack has no room for a huge page, or libc doesn't report them.
///
/// # Safety
/// `attributes` must be null or valid.
unsafe fn shape(attributes: *const Attributes) -> Option<StackShape> {
    let mut defaults = MaybeUninit::<Attributes>::zeroed();
    let attributes = match attributes.is_null() {
        true => {
            type Call = unsafe extern "C" fn(*mut Attributes) -> c_int;
            // SAFETY: libc's prototype.
            let default = unsafe { GETATTR_DEFAULT.function::<Call>()? };
            // SAFETY: `defaults` has room for attributes.
            (unsafe { default(defaults.as_mut_ptr()) } == 0).then_some(defaults.as_ptr())?
        }
        // SAFETY: upheld by the caller.
        false if unsafe { has_own_stack(attributes) } => return None,
        false => attributes,
    };
    // SAFETY: upheld by the caller, or filled by libc above.
    let len = unsafe { get_number(&GETSTACKSIZE, attributes)? };
    // SAFETY: likewise.
    let guard = unsafe { get_number(&GETGUARDSIZE, attributes)? };
    let shape = StackShape { len, guard };
    stack::is_long_enough(shape.len).then_some(shape)
}

/// Whether the program provides the stack.
///
/// # Safety
/// `attributes` must be valid.
unsafe fn has_own_stack(attributes: *const Attributes) -> bool {
    type Call = unsafe extern "C" fn(*const Attributes, *mut usize, *mut usize) -> c_int;
    // SAFETY: libc's prototype.
    let Some(stack) = (unsafe { GETSTACK.function::<Call>() }) else {
        return true;
    };
    let (mut at, mut len) = (0, 0);
    // SAFETY: upheld by the caller.
    let result = unsafe { stack(attributes, &raw mut at, &raw mut len) };
    // Without a stack, musl fails, and in glibc the address plus the length is 0.
    result == 0 && at.wrapping_add(len) != 0
}

/// Calls a function that reads a number from attributes.
///
/// # Safety
/// `function` must be of type `Call`, and `attributes` valid.
unsafe fn get_number(function: &Next, attributes: *const Attributes) -> Option<usize> {
    type Call = unsafe extern "C" fn(*const Attributes, *mut usize) -> c_int;
    // SAFETY: upheld by the caller.
    let call = unsafe { function.function::<Call>()? };
    let mut number = 0;
    // SAFETY: upheld by the caller.
    (unsafe { call(attributes, &raw mut number) } == 0).then_some(number)
}
