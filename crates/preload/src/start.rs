//! The start of a program: as little as possible.
#![expect(unsafe_code, reason = "places a function among the constructors")]

use hugetools_pages::say::{Level, say};
use hugetools_pages::{config, fork, say};

use crate::{api, kept, marker, next, segments};

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    next::find();
    if !marker::is_first() {
        return;
    }
    say::remember_stderr();
    let config = config::get();
    say::set_verbosity(config.verbosity);
    for name in config.odd.names() {
        say(
            Level::Warning,
            format_args!("the value of {name} is not understood in full; see libhugetlbfs(7)"),
        );
    }
    if marker::has_heap() {
        fork::watch();
        kept::say_so(config);
    } else if config.heap.is_some() {
        say(
            Level::Warning,
            format_args!(
                "HUGETLB_MORECORE does nothing in this library: start the program by \
                 hugectl --heap"
            ),
        );
    }
    api::prepare();
    segments::remap();
}
