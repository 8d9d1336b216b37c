//! New threads. If huge pages are requested for stacks, a thread made by `pthread_create` prepares
//! its stack before its function runs.
//!
//! One of [`SLOTS`] slots passes the function to the thread, which frees the slot first. Without a
//! slot its stack isn't prepared. `pthread_exit` and exceptions unwind through [`begin`].
#![expect(
    unsafe_code,
    reason = "exports functions of libc and calls them by address"
)]

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr;
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

/// Maximum number of threads with prepared stacks that start at the same time.
const SLOTS: usize = 64;

struct Slot {
    is_taken: AtomicBool,
    task: UnsafeCell<Option<Task>>,
}

// SAFETY: the slot's taker owns the task: the creating thread, then the created one.
unsafe impl Sync for Slot {}

#[derive(Debug, Clone, Copy)]
struct Task {
    start: Start,
    argument: *mut c_void,
    shape: Shape,
}

/// Lengths of a stack and its guard in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    len: usize,
    guard: usize,
}

static TASKS: [Slot; SLOTS] = [const {
    Slot {
        is_taken: AtomicBool::new(false),
        task: UnsafeCell::new(None),
    }
}; SLOTS];

/// Called before the program creates a thread. The first call looks all functions up, usually
/// while no other thread can hold the loader's lock.
fn before_create() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.load(Ordering::Relaxed) && !DONE.swap(true, Ordering::Relaxed) {
        program_segments::libraries_loaded();
        later::find_all();
        lock::note_threads();
    }
    admission::before_threads();
    next_touch::before_thread();
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
    // SAFETY: the type of the function of that name.
    let Some(next) = (unsafe { PTHREAD_CREATE.function::<Call>() }) else {
        return libc::EAGAIN;
    };
    before_create();
    let shape = match stack::is_for_threads() {
        // SAFETY: upheld by the caller.
        true => unsafe { shape(attributes) },
        false => None,
    };
    if shape.is_some_and(|Shape { len, guard }| !stack::may_begin(len, guard)) {
        return libc::EAGAIN;
    }
    let place = shape.and_then(|shape| {
        store(Task {
            start,
            argument,
            shape,
        })
    });
    let Some(place) = place else {
        // SAFETY: upheld by the caller.
        return unsafe { next(thread, attributes, start, argument) };
    };
    let passed = ptr::from_ref(place).cast_mut().cast();
    // SAFETY: likewise; `begin` calls the program's function.
    let result = unsafe { next(thread, attributes, begin, passed) };
    if result != 0 {
        place.is_taken.store(false, Ordering::Release);
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

fn store(task: Task) -> Option<&'static Slot> {
    let is_free = |place: &&Slot| !place.is_taken.swap(true, Ordering::Acquire);
    let place = TASKS.iter().find(is_free)?;
    // SAFETY: taken above.
    unsafe { *place.task.get() = Some(task) };
    Some(place)
}

/// The first function of a thread with a slot.
///
/// # Safety
/// `place` must be a slot taken for this thread.
unsafe extern "C-unwind" fn begin(place: *mut c_void) -> *mut c_void {
    // SAFETY: upheld by the caller.
    let task = unsafe { take(place.cast()) };
    let Some(task) = task else {
        return ptr::null_mut();
    };
    let Shape { len, guard } = task.shape;
    if let Some(end) = thread_descriptor() {
        stack::prepare_thread(end, len, guard);
    }
    // SAFETY: the program's function and argument.
    unsafe { (task.start)(task.argument) }
}

/// Frees a slot and returns its task.
///
/// # Safety
/// The slot must be taken for this thread.
unsafe fn take(place: *const Slot) -> Option<Task> {
    // SAFETY: a static slot.
    let place = unsafe { &*place };
    // SAFETY: upheld by the caller.
    let task = unsafe { *place.task.get() };
    place.is_taken.store(false, Ordering::Release);
    task
}

/// Returns the address of libc's thread descriptor, rounded up to a page: above the stack in use.
fn thread_descriptor() -> Option<usize> {
    type Call = extern "C" fn() -> usize;
    // SAFETY: the type of the function of that name.
    let pthread_self = unsafe { PTHREAD_SELF.function::<Call>()? };
    // In glibc and musl this is the descriptor's address.
    pthread_self().checked_next_multiple_of(sys::page_size())
}

/// Returns the lengths of the stack and guard that libc will allocate. `None` if the program
/// provides the stack, the stack has no room for a huge page, or libc does not say.
///
/// # Safety
/// `attributes` must be null or valid.
unsafe fn shape(attributes: *const Attributes) -> Option<Shape> {
    let mut usual = MaybeUninit::<Attributes>::zeroed();
    let attributes = match attributes.is_null() {
        true => {
            type Call = unsafe extern "C" fn(*mut Attributes) -> c_int;
            // SAFETY: the type of the function of that name.
            let default = unsafe { GETATTR_DEFAULT.function::<Call>()? };
            // SAFETY: room for attributes.
            (unsafe { default(usual.as_mut_ptr()) } == 0).then_some(usual.as_ptr())?
        }
        // SAFETY: upheld by the caller.
        false if unsafe { has_own_stack(attributes) } => return None,
        false => attributes,
    };
    // SAFETY: upheld by the caller, or filled by libc above.
    let len = unsafe { get_number(&GETSTACKSIZE, attributes)? };
    // SAFETY: likewise.
    let guard = unsafe { get_number(&GETGUARDSIZE, attributes)? };
    let shape = Shape { len, guard };
    stack::is_long_enough(shape.len).then_some(shape)
}

/// Whether the program provides the stack.
///
/// # Safety
/// `attributes` must be valid.
unsafe fn has_own_stack(attributes: *const Attributes) -> bool {
    type Call = unsafe extern "C" fn(*const Attributes, *mut usize, *mut usize) -> c_int;
    // SAFETY: the type of the function of that name.
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
