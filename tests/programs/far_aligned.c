/* Blocks that are aligned far come and go between others. To be run in an address
 * space so narrow that malloc, once it has used up what it reserved, has its memory
 * from the kernel piece by piece: each block must stay its owner's, and be known
 * for one of malloc's.
 * "far_aligned MIB": so much is used up first. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 100, ROUNDS = 60000 };
static struct { unsigned char *at; size_t size; unsigned char mark; } blocks[BLOCKS];

static uint32_t next(void)
{
	static uint32_t state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

static unsigned char *take(size_t *size)
{
	size_t alignment = (size_t)128 << 10 << next() % 3;
	void *block = NULL;

	if (next() % 4) {
		*size = 1 + next() % 60000;
		return malloc(*size);
	}
	*size = 1 + next() % 100000;
	return posix_memalign(&block, alignment, *size) ? NULL : block;
}

static int is_whole(int i)
{
	unsigned char *block = blocks[i].at;
	size_t size = blocks[i].size;

	return block[0] == blocks[i].mark && block[size / 2] == blocks[i].mark
		&& block[size - 1] == blocks[i].mark && malloc_usable_size(block) >= size;
}

int main(int argc, char **argv)
{
	size_t full = argc > 1 ? (size_t)atoi(argv[1]) << 20 : 0;
	int none = 0;

	for (size_t used = 0; used < full; used += 16 << 10)
		if (!malloc(16 << 10))
			break;

	for (int round = 0; round < ROUNDS; round++) {
		int i = (int)(next() % BLOCKS);

		if (blocks[i].at) {
			if (!is_whole(i)) {
				printf("round %d: a block of %zu bytes is not whole\n", round, blocks[i].size);
				return 1;
			}
			free(blocks[i].at);
			blocks[i].at = NULL;
			continue;
		}
		blocks[i].at = take(&blocks[i].size);
		blocks[i].mark = (unsigned char)round;
		if (blocks[i].at)
			memset(blocks[i].at, blocks[i].mark, blocks[i].size);
		else
			none++;
	}
	printf("refused=%d\n", none);
	return 0;
}
