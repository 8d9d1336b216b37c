/* Blocks that are aligned to 128 kB and more, larger and smaller than huge pages, come,
   change their size and go in four threads, while the first one forks: parent and child
   find in each what was written to it. */
#include "contract.h"
#include <malloc.h>
#include <stdint.h>

enum { THREADS = 4, BLOCKS = 12, ROUNDS = 150, FORKS = 10 };

struct block {
	unsigned char *at;
	size_t size;
};

static struct block blocks[THREADS][BLOCKS];

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

static void write_block(const struct block *block, size_t from, unsigned char mark)
{
	for (size_t i = from; i < block->size; i += 4096)
		block->at[i] = mark;
	block->at[block->size - 1] = mark;
}

static void check_block(const struct block *block, size_t size, unsigned char mark)
{
	for (size_t i = 0; i < size; i += 4096)
		if (block->at[i] != mark)
			fail("byte %zu of %zu is %d, not %d", i, block->size, block->at[i], mark);
}

static void change(struct block *block, unsigned char mark, uint32_t *state)
{
	size_t size = 1 + next(state) % (next(state) % 2 ? 6 * MIB : 300000);
	size_t alignment = (size_t)128 << 10 << next(state) % 7;
	size_t old = block->size;

	if (!block->at) {
		*block = (struct block){get_aligned(alignment, size), size};
		CHECK((uintptr_t)block->at % alignment == 0);
		CHECK(malloc_usable_size(block->at) >= size);
		write_block(block, 0, mark);
		return;
	}
	check_block(block, block->size, mark);
	if (next(state) % 2) {
		free(block->at);
		*block = (struct block){NULL, 0};
		return;
	}
	CHECK((block->at = realloc(block->at, size)));
	block->size = size;
	check_block(block, old < size ? old : size, mark);
	write_block(block, 0, mark);
}

static void *work(void *mine)
{
	struct block *all = mine;
	uint32_t state = 2463534242u + (uint32_t)((char *)mine - (char *)blocks);

	for (int round = 0; round < ROUNDS; round++) {
		int i = (int)(next(&state) % BLOCKS);

		change(&all[i], (unsigned char)(i + 1), &state);
	}
	return NULL;
}

int main(void)
{
	static struct block own[BLOCKS];
	pthread_t thread[THREADS];
	uint32_t state = 1;
	int i, k;

	fill_heap(40);
	for (i = 0; i < THREADS; i++)
		thread[i] = start(work, blocks[i]);
	for (k = 0; k < FORKS; k++) {
		pid_t child;

		for (i = 0; i < BLOCKS; i++)
			change(&own[i], (unsigned char)(i + 1), &state);
		if (!(child = fork())) {
			for (i = 0; i < 5 * BLOCKS; i++)
				change(&own[i % BLOCKS], (unsigned char)(i % BLOCKS + 1), &state);
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "blocks");
	}
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	check_heap("parent");
	right();
}
