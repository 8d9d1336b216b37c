//! Rule 1: what happens around a fork.

use super::row::User::{Crowd, Nobody, Root};
use super::row::{HOLDING, Judged, SERVED, rows};
use crate::support::needs::loopback;
use crate::support::program::Libc;

rows! {
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
    the_loaders_list_is_locked_and_the_child_exits: "listed_meanwhile" {
        args: &["exit"], options: &["--heap=thp", "--report=/dev/null"], pools: &[0],
    }
    the_loaders_list_is_locked_and_both_end_at_once: "listed_meanwhile" {
        args: &["end"], options: &["--heap=thp", "--report=/dev/null"], pools: &[0],
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
    all_files_are_flushed_meanwhile: "stdio_flush" { pools: SERVED }
    all_files_are_flushed_by_many_meanwhile: "stdio_flush" { args: &["7"], pools: HOLDING }
    a_stack_from_malloc_forks: "deep_stack" { pools: SERVED }
    a_stack_from_malloc_forks_while_another_writes: "deep_stack" { args: &["1"], pools: HOLDING }
    the_alternate_stack_of_the_forking_thread_is_from_malloc: "alternate_stacks" {
        args: &["main", "1"],
    }
    alternate_stacks_of_threads_are_from_malloc: "alternate_stacks" {
        args: &["threads", "3"], pools: HOLDING,
    }
    alternate_stacks_of_threads_beside_a_registered_buffer: "alternate_stacks" {
        args: &["threads", "3", "60", "1"], pools: &[33, 36], users: &[Nobody],
    }
    alternate_stacks_beside_a_registered_buffer_and_no_page_left: "alternate_stacks" {
        args: &["threads", "3", "60", "2"], pools: &[60], users: &[Nobody],
    }
    stacks_of_threads_are_from_malloc: "alternate_stacks" {
        args: &["whole", "3"], pools: HOLDING,
    }
    three_mappings_are_left: "few_mappings" { args: &["3"] }
    no_mapping_is_left_beside_a_device: "few_mappings" {
        args: &["0", "0", "1"], pools: HOLDING,
    }
    few_mappings_are_left_beside_a_device: "few_mappings" {
        args: &["3", "0", "1"], pools: HOLDING,
    }
    /// A group that cannot be seen, as in a chroot, has to hold a copy plainly, too.
    no_mapping_is_left_in_a_group_that_is_hidden: "few_mappings" {
        args: &["0", "0", "1"], pools: HOLDING, users: &[Root],
        words: &[
            "unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"",
            "sh", "{hugectl}", "{program}",
        ],
    }
    memory_that_can_be_written_is_limited_for_a_while: "limited_data" {
        args: &["400"], pools: HOLDING,
    }
    priorities_of_real_time: "real_time" {
        users: &[Root], pools: &[0, 150], options: &["--heap"],
    }
    a_write_barrier: "write_barrier" { args: &["0"], pools: &[0, 20, 60, 150] }
    a_write_barrier_with_threads: "write_barrier" { args: &["1"] }
    locked_memory_stays_locked: "locked" {}
    handlers_run_on_the_stack_that_they_ask_for: "handlers_stack" { pools: &[0, 150] }
    what_is_ignored_stays_ignored_in_another_program: "ignored_signal" { pools: &[0, 150] }
    mutexes_that_inherit_priorities: "inheriting_mutex" { pools: HOLDING }
    a_clone_beside_a_device_tells_its_number: "clone_number" { pools: HOLDING }
    a_clone3_beside_a_device_tells_its_number: "clone_number" {
        args: &["2", "1"], pools: HOLDING,
    }
    a_clone_past_libc_with_threads: "raw_clone" { args: &["16384", "2"], pools: HOLDING }
    children_that_begin_with_a_function: "clone_begins" {
        pools: &[0, 60, 150], judged: Judged::RightHere, seconds: 30,
    }
    a_handler_makes_children_that_begin_with_a_function: "clone_begins" {
        args: &["10", "3", "1"], pools: &[0, 60, 150], judged: Judged::RightHere, seconds: 30,
    }
    a_clone_past_libc_while_others_load: "clone_in_dlopen" { pools: &[0, 60, 30] }
    all_signals_are_blocked: "blocked_signals" { pools: &[0, 20, 60, 70, 150] }
    all_signals_are_blocked_by_threads: "blocked_signals" { args: &["3"], pools: &[20, 60, 70] }
    a_fault_whose_signal_is_blocked_kills: "blocked_faults" { pools: &[0, 20, 60, 150] }
    all_signals_were_blocked_before_there_was_a_pool: "blocked_before" { pools: HOLDING }
    a_registered_buffer: "registered_buffer" { pools: SERVED, libcs: &[Libc::Glibc] }
    a_registered_buffer_beside_pages_of_a_child: "pinned_beside_shared" { pools: HOLDING }
    buffers_are_registered_during_a_fork: "registered_in_fork" { pools: HOLDING }
    a_buffer_is_registered_with_a_socket: "registered_with_a_socket" {
        pools: HOLDING, users: &[Root],
    }
    a_ring_without_a_descriptor: "ring_without_descriptor" { pools: HOLDING, seconds: 30 }
    a_process_that_is_no_thread_shares_the_memory: "shares_memory" { pools: HOLDING }
    stacks_beside_a_registered_buffer: "beside_a_device" { pools: &[0, 20, 33, 60] }
    stacks_beside_a_registered_buffer_and_threads: "beside_a_device" {
        args: &["3"], pools: &[0, 20, 33, 60], users: &[Root],
    }
    stacks_beside_a_file_past_the_cache_and_threads: "beside_a_device" {
        args: &["3", "1"], pools: &[0, 20, 33, 60], users: &[Root],
    }
    a_stack_for_signals_begins_next_to_a_registered_buffer: "stack_next_to_a_device" {
        args: &["begins"], pools: &[0, 20, 60],
    }
    a_stack_for_signals_ends_next_to_a_registered_buffer: "stack_next_to_a_device" {
        args: &["ends"], pools: &[0, 20, 60],
    }
    a_stack_of_a_thread_begins_next_to_a_registered_buffer: "stack_next_to_a_device" {
        args: &["thread"], pools: &[0, 20, 60],
    }
    a_stack_of_a_thread_ends_where_another_handles_signals: "stacks_meet" {
        args: &["thread"], pools: &[20, 60],
    }
    a_coroutine_ends_where_another_handles_signals: "stacks_meet" {
        args: &["coroutine"], pools: &[20, 60],
    }
    a_fault_is_blocked_before_libc_touches_what_is_not_there_yet: "gap" { pools: HOLDING }
    a_child_has_the_number_of_its_parent: "gap" {
        args: &["1"], pools: HOLDING, users: &[Root],
        words: &["unshare", "--pid", "--fork", "--mount-proc", "{hugectl}", "{program}"],
    }
    a_block_that_a_pool_holds_in_part: "one_block" {}
    a_heap_grows_while_the_kernel_moves_its_pages: "compacted" {
        pools: HOLDING, users: &[Root], seconds: 40,
    }
    a_child_beside_a_device_is_of_one_moment: "one_moment" {
        pools: HOLDING, users: &[Root], judged: Judged::RightHere,
    }
    streams_are_opened_while_a_child_gets_copies: "one_moment" {
        args: &["1"], pools: HOLDING, users: &[Root],
    }
    others_free_while_a_child_gets_copies: "frees_meanwhile" { pools: &[60, 100] }
    streams_are_read_while_a_child_is_made: "streams" { pools: &[40, 80] }
    what_the_kernel_hands_over_is_not_lost: "handed_over" { pools: &[40, 80], needs: loopback }
    threads_of_c11_are_threads: "handed_over" {
        flags: &["-DC11"], pools: &[40, 80], needs: loopback,
    }
    messages_are_taken_while_a_child_is_made: "taken_messages" { pools: &[40, 80], needs: loopback }
    the_kernel_is_asked_while_a_child_is_made: "asked" { pools: &[40, 80], needs: loopback }
    much_else_is_asked_while_a_child_is_made: "told" { pools: &[40, 80] }
    plain_files_are_read_where_no_page_is_left: "plain_files" { pools: &[70, 120] }
    signals_are_blocked_by_other_names: "blocked_otherwise" { pools: &[70, 60] }
    a_coroutine_that_forks_is_on_ordinary_memory: "coroutine_forks" {}
    coroutines_are_on_ordinary_memory: "coroutines" {}
    memory_is_populated_while_a_child_is_made: "populated" { pools: &[36, 60] }
    memory_is_populated_by_number_meanwhile: "populated" { args: &["number"], pools: &[36, 60] }
    a_handler_waits_while_a_child_gets_copies: "prepare_waits" {
        library: true, pools: HOLDING, users: &[Root],
    }
    a_registered_buffer_and_threads: "registered_buffer" {
        args: &["3"], pools: HOLDING, users: &[Nobody, Root],
    }
    a_registered_buffer_and_the_first_thread_has_ended: "registered_buffer" {
        args: &["0", "1"], pools: HOLDING, users: &[Nobody, Root],
    }
    a_registered_buffer_and_threads_but_the_first: "registered_buffer" {
        args: &["3", "1"], pools: HOLDING, users: &[Nobody, Root],
    }
}
