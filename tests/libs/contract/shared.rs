//! Rule 4: whose memory it is, and what the kernel answers to calls on it.

use super::row::User::{Nobody, Root};
use super::row::rows;

const SHM: &[&str] = &["--shm"];
const BOTH: &[&str] = &["--heap", "--shm"];

rows! {
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
