/* Blocks of the heap are moved to another place, and the old one stays
   (MREMAP_DONTUNMAP): any pages of them, to where the kernel likes or to a place
   that is named. The contents are at the new place, and none at the old one.
   Arguments: blocks. */
#include "contract.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define PAGE ((size_t)4096)

static unsigned state = 1;

static size_t draw(size_t below)
{
	state = state * 1103515245u + 12345;
	return (state >> 10) % below;
}

static void fill(char *at, size_t size, int seed)
{
	for (size_t i = 0; i < size; i += 64)
		at[i] = (char)(seed + (int)(i / 64));
}

static void check(const char *at, size_t size, int seed)
{
	for (size_t i = 0; i < size; i += 64)
		if (at[i] != (char)(seed + (int)(i / 64)))
			fail("block %d: byte %zu of %zu is not what it was", seed, i, size);
}

static void keep(char *at, size_t size, int seed)
{
	int flags = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
	char *there = NULL, *now;

	if (draw(3) == 0) {
		there = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(there != MAP_FAILED);
		flags |= MREMAP_FIXED;
	}
	fill(at, size, seed);
	now = mremap(at, size, size, flags, there);
	if (now == MAP_FAILED)
		fail("block %d of %zu bytes: errno %d", seed, size, errno);
	CHECK(!there || now == there);
	check(now, size, seed);
	for (size_t i = 0; i < size; i += 64)
		if (at[i])
			fail("block %d: byte %zu of %zu is still there", seed, i, size);
	fill(at, size, seed + 1);
	check(now, size, seed);
	CHECK(!munmap(now, size));
	check(at, size, seed + 1);
}

int main(int argc, char **argv)
{
	int count = number(argc, argv, 1, 60);

	fill_heap(32);
	for (int i = 0; i < count; i++) {
		size_t pages = 1 + draw(i % 3 ? 40 : 3000), from = draw(pages);
		char *block = get_aligned(PAGE, pages * PAGE);

		if (i % 6 == 5) {
			pid_t child = fork();

			if (!child)
				_exit(0);
			wait_for(child, "fork");
		}
		keep(block + from * PAGE, (1 + draw(pages - from)) * PAGE, i);
		free(block);
	}
	check_heap("heap");
	right();
}
