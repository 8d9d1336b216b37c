//! Rule 2: what a program may expect inside of malloc: its own limits, filters,
//! stacks and streams.

use super::row::rows;
use crate::support::program::Libc;

const GLIBC: &[Libc] = &[Libc::Glibc];
const HEAP_AND_SHM: &[&str] = &["--heap", "--shm"];

rows! {
    data_that_the_program_limits: "limits" { args: &["data", "400", "200"] }
    data_that_was_limited_before_and_is_given_back: "limits" {
        args: &["start", "200", "60", "48", "80"],
    }
    blocks_of_whole_slices_where_there_is_no_more_room: "no_more_room" {}
    a_filter_before_a_heap: "confined" { args: &["0", "prctl"] }
    a_filter_after_a_heap: "confined" { args: &["64", "prctl"] }
    a_filter_after_a_heap_by_the_call_itself: "confined" { args: &["64", "raw"] }
    a_filter_after_a_fork: "confined" { args: &["64", "raw", "fork"] }
    a_filter_for_all_threads: "confined" { args: &["64", "raw", "", "4"] }
    lists_that_nobody_can_read: "bad_lists" { pools: &[0, 60], options: HEAP_AND_SHM }
    lists_that_nobody_can_read_under_a_filter: "bad_lists" {
        args: &["filter"], pools: &[0, 60], options: HEAP_AND_SHM,
    }
    a_message_without_a_standard_error: "messages" {
        words: &["{program}", "closed", "{hugectl}", "{program}", "heap"],
    }
    a_heap_that_grows_on_a_small_stack: "small_stack" {
        args: &["thread", "16384", "64"], pools: &[0, 20, 60, 150],
    }
    a_heap_that_grows_in_a_small_coroutine: "small_stack" {
        args: &["coroutine", "8192", "64"], libcs: GLIBC,
    }
    a_library_has_functions_of_libcs_names: "own_names" {
        library: true, options: &["--heap=thp"], pools: &[0],
    }
    what_libc_does_not_have: "not_in_libc" { pools: &[0, 60], options: &["--heap=thp"] }
    threads_that_end_in_many_ways: "thread_ends" { pools: &[0, 60] }
}
