//! Rule 4: whose memory it is, and what the kernel answers to calls on it.

use super::row::Judged::AsPlain;
use super::row::User::{Nobody, Root};
use super::row::rows;
use crate::support::program::Libc;

const SHM: &[&str] = &["--shm"];
const BOTH: &[&str] = &["--heap", "--shm"];

rows! {
    calls_on_segments_answer_as_the_kernel_does: "sysv_calls" {
        options: SHM, pools: &[0, 15, 60, 150], judged: AsPlain,
    }
    calls_on_segments_with_a_heap_answer_so: "sysv_calls" {
        options: BOTH, pools: &[0, 60], judged: AsPlain,
    }
    calls_on_shared_memory_answer_as_the_kernel_does: "shared_calls" {
        options: SHM, pools: &[0, 3, 7, 60], judged: AsPlain,
    }
    calls_on_shared_memory_with_a_heap_answer_so: "shared_calls" {
        options: BOTH, pools: &[0, 60], judged: AsPlain,
    }
    calls_in_the_place_of_shared_memory_answer_so: "fixed_calls" {
        options: SHM, pools: &[0, 7, 60], judged: AsPlain,
    }
    calls_in_its_place_with_a_heap_answer_so: "fixed_calls" {
        options: BOTH, pools: &[0, 60], judged: AsPlain,
    }
    calls_in_its_place_are_refused_as_without: "refused_fixed" {
        options: SHM, pools: &[0, 7, 60], judged: AsPlain,
    }
    /// Beside another thread nothing is taken for a moment.
    calls_in_its_place_beside_a_thread_are_refused_as_without: "refused_fixed" {
        args: &["beside"], options: SHM, pools: &[0, 7, 60], judged: AsPlain,
    }
    /// For root nothing is too much to lock.
    locked_memory_in_its_place_is_refused_so: "refused_fixed" {
        args: &["lock"], options: SHM, users: &[Nobody], pools: &[0, 7, 60], judged: AsPlain,
    }
    what_was_locked_is_forgotten_when_it_goes: "stale_locks" {
        options: SHM, pools: &[0, 60], judged: AsPlain,
    }
    shared_memory_is_locked_as_without: "locked_all" {
        options: SHM, users: &[Root], pools: &[0, 7, 60], judged: AsPlain,
    }
    a_file_and_what_goes_on_in_it_move_as_one: "grown_beside" {
        options: &["--shm=thp"], pools: &[0], judged: AsPlain,
    }
    memory_that_was_moved_by_its_number_moves_as_one: "grown_beside" {
        options: &["--anon"], pools: &[0], judged: AsPlain,
    }
    what_is_mapped_twice_stays_the_same: "mapped_twice" {
        options: BOTH, libcs: &[Libc::Glibc], pools: &[0, 150],
    }
    a_page_is_closed_in_a_root_without_proc: "closed_when_confined" {
        args: &["0"], options: SHM, libcs: &[Libc::Glibc], users: &[Root], pools: &[0, 60],
    }
    a_page_is_closed_without_descriptors: "closed_when_confined" {
        args: &["1"], options: SHM, libcs: &[Libc::Glibc], pools: &[0, 60],
    }
    a_page_is_closed_under_a_filter: "closed_when_confined" {
        args: &["2"], options: SHM, libcs: &[Libc::Glibc], pools: &[0, 60],
    }
    a_write_barrier_of_shared_memory: "shared_barrier" { options: SHM, pools: &[0, 60] }
    a_write_barrier_of_shared_memory_with_a_heap: "shared_barrier" {
        args: &["3"], options: BOTH, pools: &[0, 60],
    }
    a_handler_maps_inside_of_mmap: "signal_in_mmap" { options: SHM, pools: &[0, 2, 60] }
    a_handler_maps_inside_of_mmap_with_a_heap: "signal_in_mmap" { options: BOTH, pools: &[0, 60] }
    /// Plainly made, asked for by a process that cannot see its own limits.
    a_segment_of_a_plain_process_stays_as_it_is: "segment_of_another" {
        options: SHM, users: &[Root], pools: &[0, 12, 60],
        words: &["{program}", "make", "1213548357", "unshare", "-C", "{hugectl}", "{program}", "use", "1213548357"],
    }
    a_segment_of_one_of_ours_stays_as_it_is: "segment_of_another" {
        options: SHM, users: &[Root], pools: &[0, 12, 60],
        words: &["{hugectl}", "{program}", "make", "1213548358", "unshare", "-C", "{hugectl}", "{program}", "use", "1213548358"],
    }
    a_segment_is_asked_for_under_a_policy: "segment_of_another" {
        options: SHM, users: &[Root, Nobody], pools: &[0, 12, 60],
        words: &["{hugectl}", "{program}", "make", "1213548359", "{program}", "confine", "{hugectl}", "{program}", "use", "1213548359"],
    }
    a_plain_segment_is_asked_for_under_a_policy: "segment_of_another" {
        options: SHM, users: &[Root, Nobody], pools: &[0, 12, 60],
        words: &["{program}", "make", "1213548360", "{program}", "confine", "{hugectl}", "{program}", "use", "1213548360"],
    }
}
