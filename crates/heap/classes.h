/* The sizes of blocks, finer than mimalloc's own: on huge pages what a block does
 * not use is there all the same.
 *
 * Each doubling of the size has so many: 4 up to 4 KiB, as mimalloc has it, 8 up to
 * 64 KiB, 16 up to 128 KiB, and 32 up to 1 MiB. One more comes after that, so that
 * what is hardly larger is not a slice larger. Still larger blocks have pages of
 * their own, of whole slices. The number of classes and the largest of these sizes
 * stand in build.rs, too. */
#define LARGEST_CLASS_WORDS  MI_LARGE_MAX_OBJ_WSIZE

/* For sizes with the same highest bit, in words less one: how far to shift them, and
 * what to add, for their class. Where there are twice as many as in the doubling
 * before, the shift is the same. */
static const struct { uint8_t shift; uint8_t before; } steps[] = {
  [3] = { 1, 5 }, [4] = { 2, 9 }, [5] = { 3, 13 }, [6] = { 4, 17 }, [7] = { 5, 21 },
  [8] = { 6, 25 }, [9] = { 6, 25 }, [10] = { 7, 33 }, [11] = { 8, 41 }, [12] = { 9, 49 },
  [13] = { 9, 49 }, [14] = { 9, 49 }, [15] = { 10, 81 }, [16] = { 11, 113 },
  [17] = { 17, 176 },
};

/* The class of a size; in the place of the function in mimalloc's page-queue.c. */
static mi_decl_noinline size_t mi_bin(size_t size)
{
  size_t words = _mi_wsize_from_size(size);
  if mi_likely(words <= 8) return (words <= 1 ? 1 : (words + 1) & ~(size_t)1);
  if mi_unlikely(words > LARGEST_CLASS_WORDS) return MI_BIN_HUGE;
  words--;
  const size_t high = MI_SIZE_BITS - 1 - mi_clz(words);
  return (words >> steps[high].shift) + steps[high].before;
}

/* The size to ask for where a block is to grow: it may well do so again, and with finer
 * classes would be copied each time. So it has the room that mimalloc's own classes
 * would give it. */
static size_t with_room_to_grow(size_t old, size_t size)
{
  if mi_likely(old == 0 || size <= old || size <= 4 * MI_KiB) return size;
  if (size > 512 * MI_KiB) return _mi_os_good_alloc_size(size);
  const size_t high = MI_SIZE_BITS - 1 - mi_clz(size - 1);
  return _mi_align_up(size, (size_t)1 << (high - 2));
}

/* An empty queue of pages for each class, by the words of its blocks: these are `of`
 * parts of what comes after `words`. */
#define QUEUE(words)            { NULL, NULL, 0, (words) * sizeof(void*) }
#define FOUR(words, of, i)      QUEUE((words) / (of) * ((of) + (i) + 1)), \
                                QUEUE((words) / (of) * ((of) + (i) + 2)), \
                                QUEUE((words) / (of) * ((of) + (i) + 3)), \
                                QUEUE((words) / (of) * ((of) + (i) + 4))
#define EIGHT(words, of, i)     FOUR(words, of, i), FOUR(words, of, (i) + 4)
#define SIXTEEN(words, of, i)   EIGHT(words, of, i), EIGHT(words, of, (i) + 8)
#define MI_PAGE_QUEUES_EMPTY \
  { QUEUE(1), \
    QUEUE(1), QUEUE(2), QUEUE(3), QUEUE(4), QUEUE(5), QUEUE(6), QUEUE(7), QUEUE(8), \
    FOUR(8, 4, 0), FOUR(16, 4, 0), FOUR(32, 4, 0), \
    FOUR(64, 4, 0), FOUR(128, 4, 0), FOUR(256, 4, 0), \
    EIGHT(512, 8, 0), EIGHT(1024, 8, 0), EIGHT(2048, 8, 0), EIGHT(4096, 8, 0), \
    SIXTEEN(8192, 16, 0), \
    SIXTEEN(16384, 32, 0), SIXTEEN(16384, 32, 16), \
    SIXTEEN(32768, 32, 0), SIXTEEN(32768, 32, 16), \
    SIXTEEN(65536, 32, 0), SIXTEEN(65536, 32, 16), \
    QUEUE(LARGEST_CLASS_WORDS), \
    QUEUE(LARGEST_CLASS_WORDS + 1), /* blocks with pages of their own */ \
    QUEUE(LARGEST_CLASS_WORDS + 2)  /* full pages */ }
