//! Another library of this kind in the process: libhugetlbfs built from source
//! has a name of its own for the loader, so that it is there besides us, and
//! starts before us. It reads the same variables and would move the program's
//! segments, which we do then, too. For that it asks for a file of huge pages by
//! functions that it has in common with us, and gets ours: they have none for
//! it, and it leaves the program as it is.

use core::ops::ControlFlow;

use hugetools_pages::config::environment;

use crate::loader::objects::{self, Object};
use crate::next;

/// Whether this call may be one of such a library that is starting.
pub(crate) fn is_starting() -> bool {
    !environment::has_begun() && each(|_| ())
}

/// Has calls of ours pass such a library over.
pub(crate) fn pass_over() {
    each(|object| next::pass_over(|address| object.contains(address)));
}

/// Calls `visit` with each such library; whether there is one.
fn each(visit: impl Fn(&Object<'_>)) -> bool {
    let mut found = false;
    objects::each(|object| {
        if is_rival(object) {
            found = true;
            visit(object);
        }
        ControlFlow::Continue(())
    });
    found
}

fn is_rival(object: &Object<'_>) -> bool {
    let name = object.own_name().unwrap_or_default();
    let is_named = name.to_bytes().starts_with(b"libhugetlbfs");
    let has = |name| object.address_of(name).is_some();
    is_named && !object.is_ours() && has(c"gethugepagesize") && !has(c"__hugetools_library")
}
