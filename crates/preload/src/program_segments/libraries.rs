//! Libraries loaded at the start or by `dlopen`, as `java` loads `libjvm.so`.
//!
//! No code of ours runs after a `dlopen` (see `dlopen.rs`). So the loader's list is checked at the
//! start, before each `dlopen`, and before the second thread.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

use hugetools_pages::config::{self, Config};

use crate::loader::lock;
use crate::loader::objects::{self, Object};

/// Load addresses of the libraries seen. When it is full, new libraries are left alone.
static SEEN: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];

/// Calls `put` for each new library, if requested, while the process has one thread.
pub(super) fn check(put: fn(&Object<'_>, &Config)) {
    let config = config::get();
    if !config.text_libs || !lock::is_surely_free() {
        return;
    }
    objects::each(|object| {
        let is_library = !object.is_program && !object.is_vdso();
        if is_library && is_new(object) && !object.has_text_relocations() {
            put(object, config);
        }
        ControlFlow::Continue(())
    });
}

/// Records a library; returns whether it was unknown.
fn is_new(object: &Object<'_>) -> bool {
    for place in &SEEN {
        match place.load(Ordering::Relaxed) {
            0 => {
                place.store(object.base, Ordering::Relaxed);
                return true;
            }
            base if base == object.base => return false,
            _ => {}
        }
    }
    false
}
