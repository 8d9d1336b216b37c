/* Pages of one large block that were freed just now. To take such a page from an arena
 * and to return it costs several hundred nanoseconds, and many a program frees a large
 * block only to take another of about the same size: so a few of all threads are kept as
 * they are, until what is free is given back. */

/* So many of as many slices each. */
#define MOST_ALIKE  (2)
#define MOST_SLICES  (MI_LARGE_MAX_OBJ_SIZE / MI_ARENA_SLICE_SIZE + 1)

/* By their slices. Each is free, owned, and in no queue. Whoever takes one out has it. */
static _Atomic(mi_page_t *) spares[MOST_SLICES + 1][MOST_ALIKE];

/* Their slices; and how many there may be: one of so many that pages have, or so few. */
static _Atomic(size_t) spare_slices;
#define PART_SPARE   (16)
#define FEW_SLICES   (MI_MiB / MI_ARENA_SLICE_SIZE)

static bool is_put(mi_page_t *page, size_t slices)
{
  const size_t before = mi_atomic_add_relaxed(&spare_slices, slices);
  const size_t part = mi_atomic_load_relaxed(&slices_of_pages) / PART_SPARE;
  const size_t most = part < FEW_SLICES ? FEW_SLICES : part;
  for (size_t i = 0; i < MOST_ALIKE && before + slices <= most; i++) {
    mi_page_t *none = NULL;
    if (mi_atomic_load_ptr_relaxed(mi_page_t, &spares[slices][i]) == NULL
        && mi_atomic_cas_ptr_strong_acq_rel(mi_page_t, &spares[slices][i], &none, page)) {
      return true;
    }
  }
  mi_atomic_sub_relaxed(&spare_slices, slices);
  return false;
}

/* A page of so many slices, or `NULL`. */
static mi_page_t *take_spare(size_t slices)
{
  for (size_t i = 0; i < MOST_ALIKE; i++) {
    if (mi_atomic_load_ptr_relaxed(mi_page_t, &spares[slices][i]) == NULL) continue;
    mi_page_t *const page = mi_atomic_exchange_ptr_acq_rel(mi_page_t, &spares[slices][i], NULL);
    if (page == NULL) continue;
    mi_atomic_sub_relaxed(&spare_slices, slices);
    return page;
  }
  return NULL;
}

/* Returns the pages to their arenas. */
static void return_spares(void)
{
  if (mi_atomic_load_relaxed(&spare_slices) == 0) return;
  for (size_t slices = 0; slices <= MOST_SLICES; slices++) {
    for (mi_page_t *page; (page = take_spare(slices)) != NULL;) mimallocs_page_free(page, NULL);
  }
}

/* In the child of a fork whose memory is not of one moment: they are lost to it. */
static void forget_spares(void)
{
  for (size_t slices = 0; slices <= MOST_SLICES; slices++) {
    while (take_spare(slices) != NULL) {}
  }
}

/* Whether it is a page of one block that begins with its slices and takes no more of
 * them than it needs, and whether what is free may be kept at all. */
static bool may_be_spare(const mi_page_t *page)
{
  const size_t size = page->block_size;
  return page->reserved == 1 && size > LARGE && size <= MI_LARGE_MAX_OBJ_SIZE
      && page->memid.memkind == MI_MEM_ARENA
      && page->memid.mem.arena.slice_count == mi_slice_count_of_size(size)
      && page->page_start == mi_page_slice_start(page)
      && mi_option_get(mi_option_purge_delay) != 0 && is_one_node();
}

/* In the place of the function in mimalloc's arena.c. */
void _mi_arenas_page_free(mi_page_t *page, mi_theap_t *theap)
{
  if (may_be_spare(page)) {
    mi_page_set_has_interior_pointers(page, false);
    /* That memory has become free is told by a look at the clock: src/purge/idle.rs. */
    (void)_mi_clock_now();
    if (is_put(page, page->memid.mem.arena.slice_count)) return;
  }
  mimallocs_page_free(page, theap);
}

/* A page for a block of a size that was kept, or `NULL`. The block that it had may have
 * been of another size. */
mi_page_t *hugetools_spare_page(size_t block_size)
{
  if (block_size <= LARGE || block_size > MI_LARGE_MAX_OBJ_SIZE) return NULL;
  mi_page_t *const page = take_spare(mi_slice_count_of_size(block_size));
  if (page != NULL && page->block_size != block_size) {
    count_page(page, -1);
    page->block_size = block_size;
    count_page(page, 1);
  }
  return page;
}

/* In the place of the function in mimalloc's arena.c. */
void _mi_arenas_collect(bool force, bool visit_all, mi_tld_t *tld)
{
  return_spares();
  mimallocs_collect(force, visit_all, tld);
}
