//! What malloc answers, and what it gives back.

use super::row::Judged::{AsPlain, RightHere};
use super::row::User::Root;
use super::row::rows;
use crate::support::program::Libc;

rows! {
    a_page_of_bss_is_closed_before_the_program: "changed_before" {
        library: true, args: &["0"], options: &["--data", "--bss"], pools: &[0, 60],
    }
    a_page_of_bss_is_read_only_before_the_program: "changed_before" {
        library: true, args: &["1"], options: &["--data", "--bss"], pools: &[0, 60],
    }
    bss_is_shared_before_the_program: "changed_before" {
        library: true, args: &["2"], options: &["--data", "--bss"], pools: &[0, 60],
    }
    a_page_of_bss_is_kept_from_children: "changed_before" {
        library: true, args: &["3"], options: &["--data", "--bss"], pools: &[0, 60],
    }
    malloc_answers_as_libc_does: "malloc_answers" {
        libcs: &[Libc::Glibc], pools: &[0, 60], judged: AsPlain,
    }
    what_is_freed_is_given_back: "give_back" {
        pools: &[0, 60, 150], judged: RightHere,
    }
    blocks_that_are_aligned_to_huge_pages: "aligned_blocks" {}
    /// glibc says ENOMEM where `brk` was refused first.
    a_call_that_succeeds_leaves_errno_alone: "errno_stays" { pools: &[0], judged: RightHere }
    small_blocks_leave_room_for_large_ones: "narrow" {
        words: &["sh", "-c", "ulimit -v 600000 && exec \"$0\" \"$@\"", "{hugectl}", "{program}"],
        pools: &[0, 60],
    }
    what_the_heap_reserves_is_not_locked: "locked_later" {
        options: &["--heap=thp"], users: &[Root], pools: &[0],
    }
    nor_where_it_begins_or_grows_then: "locked_later" {
        args: &["40", "60"], options: &["--heap=thp"], users: &[Root], pools: &[0],
    }
    a_page_is_closed_past_a_limit_of_space: "closed_at_the_limit" { pools: &[0, 60] }
    a_required_heap_serves_every_call: "required_blocks" {
        options: &["--heap=2MB", "--require=heap"], pools: &[150],
    }
}
