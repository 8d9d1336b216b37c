//! Rule 2: what a program may expect inside of malloc: its own limits, filters,
//! stacks and streams.

use super::row::rows;

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
    a_message_without_a_standard_error: "messages" {
        words: &["{program}", "closed", "{hugectl}", "{program}", "heap"],
    }
    threads_that_end_in_many_ways: "thread_ends" { pools: &[0, 60] }
}
