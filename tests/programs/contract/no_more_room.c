/* A program that may have hardly more address space than it has, and takes blocks of every
   size of so many times 64 KiB until there are none: each is whole, its own, and can grow. */
#include "contract.h"
#include <sys/resource.h>

#define SLICE ((size_t)64 << 10)
#define MOST 4000
#define MORE ((size_t)24 << 20)

static struct { unsigned char *at; size_t size; } block[MOST];
static size_t count;

static size_t mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	CHECK(file && fscanf(file, "%lu", &pages) == 1 && !fclose(file));
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Of as many slices as the number says, or a few bytes less. */
static size_t size_of(size_t number)
{
	return SLICE * (number % 16 + 1) - (number / 16 % 3) * 40;
}

static void mark(size_t which)
{
	memset(block[which].at, (int)(which % 251), block[which].size);
}

static void check(size_t which)
{
	size_t at;

	for (at = 0; at < block[which].size; at++)
		if (block[which].at[at] != which % 251)
			fail("byte %zu of block %zu is %d", at, which, block[which].at[at]);
}

/* Until there is nothing more. */
static void take_all(void)
{
	while (count < MOST) {
		size_t size = size_of(count);
		unsigned char *at = malloc(size);

		if (!at && !(at = malloc(size = SLICE)))
			return;
		block[count].at = at;
		block[count].size = size;
		mark(count++);
	}
}

int main(void)
{
	struct rlimit limit;
	size_t round, i;

	free(get(100));
	CHECK(!getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = mapped() + MORE;
	CHECK(!setrlimit(RLIMIT_AS, &limit));
	for (round = 0; round < 6; round++) {
		take_all();
		if (count < 20)
			fail("%zu blocks", count);
		for (i = round % 3; i < count; i += 3) {
			size_t size = size_of(i * 7 + round);
			unsigned char *at = realloc(block[i].at, size);

			if (!at)
				continue;
			block[i].at = at;
			block[i].size = size;
			mark(i);
		}
		for (i = 0; i < count; i++)
			check(i);
		while (count > round * 10)
			free(block[--count].at);
	}
	right();
}
