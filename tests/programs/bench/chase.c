/* Pointer chase: the cache lines of a large block form a ring in an order that defeats the
   prefetcher.

   chase MIB: a power of two */
#include "bench.h"

struct line {
	struct line *next;
	uint64_t value[7];
};

int main(int argc, char **argv)
{
	size_t bytes = bytes_of(argc, argv), lines = bytes / sizeof(struct line), i;
	struct line *ring = need(malloc(bytes)), *at = ring;
	uint64_t sum = 0;

	/* A linear congruence of full period visits every line once. */
	for (i = 0; i < lines; i++) {
		ring[i].next = &ring[(i * 2862933555777941757u + 3037000493u) & (lines - 1)];
		ring[i].value[0] = i;
	}
	for (i = 0; i < lines / 4; i++) {
		sum = sum * 31 + at->value[0];
		at = at->next;
	}
	printf("%016lx\n", (unsigned long)sum);
	free(ring);
	return 0;
}
