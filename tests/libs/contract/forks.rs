//! Rule 1: what happens around a fork.

use super::row::User::{Crowd, Root};
use super::row::{HOLDING, SERVED, rows};

rows! {
    a_heap_forks: "forks" { args: &["4", "0"], pools: &[24, 60, 160], seconds: 60 }
    a_heap_forks_beside_threads: "forks" { args: &["4", "8"], pools: &[24, 60, 160], seconds: 60 }
    a_heap_forks_where_others_take_the_pool: "forks" {
        args: &["4", "0", "emptied"], pools: &[60, 160], seconds: 60,
    }
    a_heap_forks_beside_threads_where_others_take_the_pool: "forks" {
        args: &["4", "8", "emptied"], pools: &[60, 160], seconds: 60,
    }
    data_and_bss_are_forked: "forks" {
        flags: &["-DSTATIC"], args: &["4", "0"], options: &["--data", "--bss"],
        pools: &[24, 60, 160], seconds: 60,
    }
    data_and_bss_are_forked_beside_threads: "forks" {
        flags: &["-DSTATIC"], args: &["4", "8", "emptied"], options: &["--data", "--bss"],
        pools: &[60, 160], seconds: 60,
    }
    a_library_before_ours_allocates_around_a_small_fork: "atfork_allocates" {
        library: true, args: &["0"],
    }
    a_library_before_ours_allocates_around_a_large_fork: "atfork_allocates" {
        library: true, args: &["64", "0"], pools: HOLDING,
    }
    a_library_before_ours_allocates_with_threads: "atfork_allocates" {
        library: true, args: &["64", "7"], pools: HOLDING,
    }
    the_loaders_list_is_locked_at_a_fork: "listed_meanwhile" {
        args: &["child"], options: &["--heap=thp"], pools: &[0],
    }
    the_loaders_list_is_locked_and_the_child_maps: "listed_meanwhile" {
        args: &["maps"], options: &["--text=thp", "--text-libs"], pools: &[0],
    }
    the_loaders_list_is_locked_by_one_that_waits: "listed_meanwhile" {
        args: &["held"], options: &["--heap=thp"], pools: &[0],
    }
    the_loaders_list_is_locked_by_one_that_waits_for_who_maps: "listed_meanwhile" {
        args: &["held"], options: &["--text=thp", "--text-libs"], pools: &[0],
    }
    a_lock_from_malloc_is_taken_before_a_fork: "prepare_locks" {
        library: true, pools: SERVED,
    }
    a_handler_counts_with_one_thread: "signal_counts" { args: &["0"] }
    a_handler_counts_with_threads: "signal_counts" { args: &["1"] }
    a_handler_counts_with_many_threads: "signal_counts" { args: &["7"], pools: HOLDING }
    a_handler_counts_in_many_groups: "signal_counts" {
        args: &["3"], users: &[Crowd], pools: HOLDING,
    }
    a_handler_counts_in_data_and_bss: "signal_counts" {
        flags: &["-DTABLE"], args: &["0"], options: &["--data", "--bss"], pools: HOLDING,
    }
    a_handler_counts_in_data_and_bss_with_threads: "signal_counts" {
        flags: &["-DTABLE"], args: &["1"], options: &["--data", "--bss"], pools: HOLDING,
    }
    priorities_of_real_time: "real_time" {
        users: &[Root], pools: &[0, 150], options: &["--heap"],
    }
    a_write_barrier: "write_barrier" { args: &["0"], pools: &[0, 20, 60, 150] }
    a_write_barrier_with_threads: "write_barrier" { args: &["1"] }
    locked_memory_stays_locked: "locked" {}
    mutexes_that_inherit_priorities: "inheriting_mutex" { pools: HOLDING }
}
