//! The contract of the libraries with their host program: it behaves as without them.
//!
//! 1. Around a fork no byte is lost and no thread waits forever.
//! 2. malloc makes only the calls that libc's malloc makes, raises no signal and keeps errno.
//! 3. Memory that we did not create is not populated, removed, moved or advised.
//!
//! A row names a program of `tests/programs/contract` and the states it runs in: options of
//! hugectl, pages in the pool (none, fewer than the heap, once the heap, ample), users, libcs. The
//! program prints `right`, or what is wrong; a timeout is a failure. `HUGETOOLS_SECONDS` selects
//! the states: below 20 one of each row, at 20 each pool, user and libc, above 20 all combinations.
//! Above 1, as in `.ci/run`, the program must also pass without hugectl.

pub(super) mod row;
mod run;

use crate::support::program::Libc;
use row::{Judged, User, rows};

const SEGMENTS: &[&str] = &["--data", "--bss"];
const STATIC: &[&str] = &["-DSTATIC"];

rows! {
    forks_of_a_heap: "forks" { args: &["4", "0"], pools: &[24, 60, 160], short: 2 }
    forks_of_a_heap_with_eight_threads: "forks" {
        args: &["4", "8"], pools: &[24, 60, 160], short: 2,
    }
    forks_of_a_heap_while_the_pool_is_emptied: "forks" {
        args: &["4", "0", "emptied"], pools: &[60, 160],
    }
    forks_of_a_heap_with_eight_threads_while_the_pool_is_emptied: "forks" {
        args: &["4", "8", "emptied"], pools: &[60, 160], short: 2,
    }
    forks_of_a_heap_after_a_seccomp_filter: "forks" {
        args: &["4", "0", "filter"], pools: &[40, 60],
    }
    forks_of_data_and_bss: "forks" {
        flags: STATIC, args: &["4", "0"], options: SEGMENTS, pools: &[24, 60, 160], short: 2,
    }
    forks_of_data_and_bss_with_eight_threads_while_the_pool_is_emptied: "forks" {
        flags: STATIC, args: &["4", "8", "emptied"], options: SEGMENTS, pools: &[60, 160], short: 2,
    }
    atfork_handlers_of_an_earlier_library: "atfork" { library: true, args: &["0", "0"] }
    atfork_handlers_of_an_earlier_library_with_threads: "atfork" {
        library: true, args: &["64", "7"], pools: &[60, 150],
    }
    fork_while_the_loader_is_locked: "loader_locked" {
        options: &["--heap=thp", "--text=thp", "--text-libs", "--report=/dev/null"], pools: &[0],
    }
    calls_while_the_loader_is_locked: "loader_locked" {
        args: &["held"], options: &["--heap=thp", "--text=thp", "--text-libs"], pools: &[0],
    }
    locked_memory_stays_locked_at_a_fork: "mlocked" {}
    reserved_memory_is_not_locked_by_mcl_future: "mlocked" {
        args: &["40", "60"], options: &["--heap=thp"], users: &[User::Root], pools: &[0],
    }
    bss_that_a_library_changed_before_main: "changed_before" {
        library: true, options: SEGMENTS, pools: &[0, 60],
    }
    malloc_in_corner_cases: "malloc_corner_cases" {
        libcs: &[Libc::Glibc], pools: &[0, 60], judged: Judged::AsPlain,
    }
    limit_of_data: "limits" { args: &["now", "400", "200"] }
    limit_of_data_at_the_start: "limits" { args: &["start", "200", "60", "48"] }
    filter_before_a_heap: "confined" { args: &["0", "prctl"] }
    filter_after_a_fork: "confined" { args: &["64", "raw", "0", "fork"] }
    filter_for_all_threads: "confined" { args: &["64", "raw", "4"] }
    signal_handler_that_calls_mmap: "signal_in_mmap" {
        options: &["--heap", "--shm"], pools: &[0, 2, 60],
    }
    segment_of_another_process: "segment_of_another" {
        options: &["--shm"], pools: &[0, 12, 60],
        words: &["{program}", "make", "1213548357", "{hugectl}", "{program}", "use", "1213548357"],
    }
    segment_of_another_process_under_a_policy: "segment_of_another" {
        options: &["--shm"], pools: &[0, 12, 60],
        words: &["{hugectl}", "{program}", "make", "1213548358", "{program}", "confine",
                 "{hugectl}", "{program}", "use", "1213548358"],
    }
}
