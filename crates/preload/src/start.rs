//! The constructor.
//!
//! **Invariants.** It runs before the program. In a second copy of this library it only looks
//! functions up. It reads nothing that can be read on demand.
//!
//! **Locks.** None: there is one thread.
//!
//! **At a fork.** Nothing; `exec` starts anew.
#![expect(unsafe_code, reason = "places a function among the constructors")]

use hugetools_pages::config::{self, environment};
use hugetools_pages::fork;
use hugetools_pages::policy::pool_backoff;
use hugetools_pages::rt::message::{self, Level, say};
use hugetools_pages::rt::{outlet, weak};
use hugetools_pages::segment::stack;

use crate::loader::host_malloc;
use crate::next::{self, later};
use crate::report::{end, report_file, required, shared_page};
use crate::rt::marker;
use crate::{api, program_segments};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    environment::constructor_runs();
    next::find();
    if !marker::is_first() {
        return;
    }
    let config = config::get();
    outlet::prepare(config.messages.as_ref());
    message::set_verbosity(config.verbosity);
    report_file::prepare();
    if !weak::is_glibc() {
        // A signal handler may call `exit` under the lock of musl's loader: a look-up would hang.
        later::find_all();
    }
    for name in config.rejected.names() {
        say(
            Level::Warning,
            format_args!("the value of {name} is invalid, wholly or in part; see libhugetlbfs(7)"),
        );
    }
    if marker::has_heap() {
        fork::watch();
        pool_backoff::report_valgrind();
        host_malloc::report(config);
    } else if config.heap.is_some() {
        say(
            Level::Warning,
            format_args!(
                "HUGETLB_MORECORE does nothing in this library: start the program by \
                 hugectl --heap"
            ),
        );
    }
    shared_page::begin();
    api::prepare();
    program_segments::remap();
    stack::prepare_main();
    if !required::is_met() {
        end::refuse_start();
    }
}
