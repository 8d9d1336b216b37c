/* mimalloc's options, by their names: the numbers differ from version to version. */
#include <mimalloc.h>

/* From now on mimalloc gives a page back when it is freed. */
void hugetools_purge_at_once(void)
{
  mi_option_set(mi_option_purge_delay, 0);
}

/* All of its memory comes from our extents. `strict`: from nowhere else. `at_once`:
 * freed memory goes back at once. */
void hugetools_set_options(bool strict, bool at_once)
{
  mi_option_set(mi_option_arena_reserve, 0);
  mi_option_set(mi_option_arena_max_object_size, 16 << 20); /* KiB: as large as an arena */
  if (strict) mi_option_set(mi_option_disallow_os_alloc, 1);
  mi_option_set(mi_option_page_commit_on_demand, 0);
  if (at_once) hugetools_purge_at_once();
}
