/* Where free slices are found. mimalloc divides an arena into chunks of 32 MiB, and
 * a page lies in one: what is left at the end of a chunk holds no large page, and is
 * memory all the same where it shares a huge page with what lies before it. Here a
 * page may lie across the end of a chunk, and is found from the beginning on. */

/* How many slices are free at the beginning of a chunk. */
static size_t free_at_start(mi_bchunk_t *chunk)
{
  size_t count = 0;
  for (size_t i = 0; i < MI_BCHUNK_FIELDS; i++) {
    const size_t free = mi_bfield_ctz(~mi_atomic_load_relaxed(&chunk->bfields[i]));
    count += free;
    if (free < MI_BFIELD_BITS) break;
  }
  return count;
}

/* How many slices are free at the end of a chunk. */
static size_t free_at_end(mi_bchunk_t *chunk)
{
  size_t count = 0;
  for (size_t i = MI_BCHUNK_FIELDS; i > 0; i--) {
    const size_t free = mi_bfield_clz(~mi_atomic_load_relaxed(&chunk->bfields[i - 1]));
    count += free;
    if (free < MI_BFIELD_BITS) break;
  }
  return count;
}

/* Keeps pages of one slice out of a chunk that begins with a larger one, as mimalloc
 * does. */
static void note_kind(mi_bbitmap_t *slices, size_t chunk)
{
  if (mi_bbitmap_debug_get_bin(slices->chunkmap_bins, chunk) != MI_CBIN_NONE) return;
  mi_bbitmap_set_chunk_bin(slices, chunk, MI_CBIN_OTHER);
}

/* Takes `n` slices across the end of a chunk. */
static bool take_across(mi_bbitmap_t *slices, size_t chunk, size_t n, size_t *index)
{
  mi_bchunk_t *const first = &slices->chunks[chunk];
  mi_bchunk_t *const second = first + 1;
  const size_t before = free_at_end(first);
  if (before == 0 || before >= n || free_at_start(second) < n - before) return false;
  if (!mi_bchunk_try_clearN(first, MI_BCHUNK_BITS - before, before, NULL)) return false;
  if (!mi_bchunk_try_clearN(second, 0, n - before, NULL)) {
    mi_bbitmap_setN(slices, (chunk + 1) * MI_BCHUNK_BITS - before, before);
    return false;
  }
  note_kind(slices, chunk + 1);
  *index = (chunk + 1) * MI_BCHUNK_BITS - before;
  return true;
}

static bool take_within(mi_bbitmap_t *slices, size_t chunk, size_t n, size_t *index)
{
  mi_bchunk_t *const fields = &slices->chunks[chunk];
  size_t at;
  const bool found = (n <= MI_BFIELD_BITS ? mi_bchunk_try_find_and_clearNX(fields, n, &at)
                                          : mi_bchunk_try_find_and_clearNC(fields, n, &at));
  if (!found) return false;
  if (at == 0) note_kind(slices, chunk);
  *index = chunk * MI_BCHUNK_BITS + at;
  return true;
}

/* Whether memory lies nowhere else: with several nodes mimalloc's own ways are better,
 * by which threads keep to chunks of their own, and large blocks come anew from the
 * node of their thread. */
static bool is_one_node(void) { return _mi_os_numa_node_count() == 1; }

/* Takes `n` slices that follow each other, in the place of the function in mimalloc's
 * bitmap.h. */
static bool take_slices(mi_bbitmap_t *slices, size_t sequence, size_t n, size_t *index)
{
  if (n > 1 && n <= MI_BCHUNK_BITS && is_one_node()) {
    const size_t count = mi_bbitmap_chunk_count(slices);
    for (size_t chunk = 0; chunk < count; chunk++) {
      if (take_within(slices, chunk, n, index)) return true;
      if (chunk + 1 < count && take_across(slices, chunk, n, index)) return true;
    }
    return false;
  }
  return mi_bbitmap_try_find_and_clearN(slices, sequence, n, index);
}
