/* mimalloc's options by name, since their numbers differ between versions. */
#include <mimalloc.h>

_Static_assert(MI_SMALL_SIZE_MAX >= 128 * sizeof(void *), "SMALL in src/malloc.rs");

/* Lets mimalloc create no arenas of its own. `strict`: it never takes memory from the kernel.
 * `at_once`: it returns pages as soon as they are free. */
void hugetools_set_options(bool strict, bool at_once)
{
  mi_option_set(mi_option_arena_reserve, 0);
  mi_option_set(mi_option_arena_max_object_size, 16 << 20); /* KiB: as large as an arena */
  if (strict) mi_option_set(mi_option_disallow_os_alloc, 1);
  mi_option_set(mi_option_page_commit_on_demand, 0);
  if (at_once) mi_option_set(mi_option_purge_delay, 0);
}
