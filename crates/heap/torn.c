/* The child of a fork whose memory is not of one moment: threads went on allocating
 * while it was copied. What this thread has of the heap alone is whole, for nobody else
 * writes there. But what others free is a list from the note of a page through its
 * blocks, and pages that no thread has are anybody's to change: one part of these may be
 * older than the other. So nothing of them is used any more. Blocks that others had
 * freed, and free blocks of others' pages, are lost to the child. */
static bool close_page(size_t slice_index, size_t slice_count, mi_arena_t *arena, void *arg)
{
  mi_page_t *page = mi_arena_page_at_slice(arena, slice_index);
  const mi_threadid_t thread = mi_page_thread_id(page);
  (void)slice_count;
  (void)arg;
  if (thread != _mi_thread_id()) {
    /* One block has no list. */
    if (page->reserved == 1) return true;
    /* A thread that is made later may get the number of one that is no more. */
    if (!mi_page_is_abandoned(page)) {
      mi_atomic_store_release(&page->xthread_id, mi_page_flags(page) & MI_PAGE_HAS_INTERIOR_POINTERS);
    }
  }
  /* Somebody's: what is freed is noted, and not looked at. */
  mi_atomic_store_release(&page->xthread_free, (mi_thread_free_t)1);
  return true;
}

void hugetools_close_lists(void)
{
  mi_heap_t *heap = mi_heap_main();
  forget_spares();
  mi_forall_arenas(heap, NULL, 0, arena) {
    mi_arena_pages_t *pages = mi_heap_arena_pages(heap, arena);
    if (pages != NULL) _mi_bitmap_forall_set(pages->pages, &close_page, arena, NULL);
  }
  mi_forall_arenas_end();
}
