/* Allocates and frees blocks of mixed sizes in random order. Every block is filled, and checked
   in three places before it is freed.

   churn MIB mixed: 60 % below 1 KiB, 30 % to 32 KiB, 10 % to 256 KiB
   churn MIB even:  uniform from 16 B to 256 KiB */
#include "bench.h"

struct block {
	unsigned char *at;
	size_t size;
};

static int even;

static size_t from_to(size_t low, size_t high)
{
	return low + below(high - low + 1);
}

static size_t draw(void)
{
	uint64_t part = even ? 100 : below(10);

	if (part == 100)
		return from_to(16, 256 << 10);
	if (part < 6)
		return from_to(16, 1023);
	if (part < 9)
		return from_to(1 << 10, 32 << 10);
	return from_to((32 << 10) + 1, 256 << 10);
}

static void put(struct block *b, size_t slot)
{
	b->size = draw();
	b->at = need(malloc(b->size));
	memset(b->at, (int)(slot ^ b->size), b->size);
}

/* Checks and frees a block; returns a checksum. */
static uint64_t take(struct block *b, size_t slot)
{
	unsigned char mark = (unsigned char)(slot ^ b->size);

	if (b->at[0] != mark || b->at[b->size / 2] != mark || b->at[b->size - 1] != mark)
		damaged("block", slot);
	free(b->at);
	return b->size * mark;
}

int main(int argc, char **argv)
{
	size_t bytes = bytes_of(argc, argv), slots, i;
	struct block *block;
	uint64_t sum = 0;

	even = argc > 2 && !strcmp(argv[2], "even");
	slots = bytes / (even ? 131080 : 19994); /* about the mean size */
	block = need(malloc(slots * sizeof *block));
	for (i = 0; i < slots; i++)
		put(&block[i], i);
	for (i = 0; i < 3 * slots; i++) {
		size_t slot = below(slots);

		sum += take(&block[slot], slot);
		put(&block[slot], slot);
	}
	for (i = 0; i < slots; i++)
		sum += take(&block[i], i);
	printf("%016lx\n", (unsigned long)sum);
	free(block);
	return 0;
}
