/* Blocks, and what they must contain: each word is told by its block's number
   and its place. */
#ifndef BLOCKS_H
#define BLOCKS_H
#include "draw.h"
#include <malloc.h>

static uint64_t word(uint64_t id, size_t at)
{
	return (id << 32) ^ (at * 0x9e3779b97f4a7c15);
}

static void fill(unsigned char *at, uint64_t id, size_t from, size_t to)
{
	size_t i;

	for (i = from / 8; i < to / 8; i++) {
		uint64_t value = word(id, i);

		memcpy(at + i * 8, &value, 8);
	}
	for (i = to / 8 * 8; i < to; i++)
		at[i] = (unsigned char)id;
}

static void compare(const unsigned char *at, uint64_t id, size_t from, size_t to, size_t step)
{
	size_t i;

	for (i = from / 8; i < to / 8; i += step) {
		uint64_t is, must = word(id, i);

		memcpy(&is, at + i * 8, 8);
		if (is != must)
			differ("byte %zu of %p (a block of %zu) begins %#llx instead of %#llx", i * 8, (const void *)at, to,
			       (unsigned long long)is, (unsigned long long)must);
	}
	for (i = to / 8 * 8; i < to; i++)
		if (at[i] != (unsigned char)id)
			differ("byte %zu of %p (of %zu) is %d instead of %d", i, (const void *)at, to, at[i], (unsigned char)id);
}

/* A part of a block, or all of a small one. */
static void check(const struct block *block)
{
	size_t from = 0, to = block->size;

	if (block->size > 65536) {
		from = draw(block->size - 32768) & ~(size_t)7;
		to = from + 32768;
		compare(block->at, block->id, from, to & ~(size_t)7, 1);
		return;
	}
	compare(block->at, block->id, from, to, 1);
}

static void check_all(size_t step)
{
	int i;

	for (i = 0; i < me->blocks; i++)
		compare(me->block[i].at, me->block[i].id, 0, me->block[i].size, step);
}

static struct block *any(size_t least)
{
	int from, i;

	if (!me->blocks)
		return NULL;
	from = (int)draw((uint64_t)me->blocks);
	for (i = 0; i < me->blocks; i++) {
		struct block *block = &me->block[(from + i) % me->blocks];

		if (block->size >= least && block != me->in_ring)
			return block;
	}
	return NULL;
}

static void keep(unsigned char *at, size_t size)
{
	struct block *block = &me->block[me->blocks++];

	MUST(malloc_usable_size(at) >= size);
	*block = (struct block){at, size, ((uint64_t)me->number << 24) + (uint64_t)me->operation + 1};
	fill(at, block->id, 0, size);
	me->bytes += size;
}

/* The last one takes the place of one that is gone. */
static void forget(struct block *block)
{
	struct block *last = &me->block[--me->blocks];

	if (me->in_ring == last)
		me->in_ring = block;
	*block = *last;
}

static void drop(struct block *block)
{
	if (chance(4))
		compare(block->at, block->id, 0, block->size, 1);
	else
		check(block);
	me->bytes -= block->size;
	errno = 4242;
	free(block->at);
	MUST(errno == 4242);
	forget(block);
}

static void make_block(void)
{
	size_t size = draw_size(8 * MIB), alignment = (size_t)16 << draw(10);
	unsigned char *at = NULL;
	size_t i;

	if (me->blocks == BLOCKS || me->bytes + size > episode.heap) {
		struct block *block = any(0);

		if (block)
			drop(block);
		if (me->blocks == BLOCKS || me->bytes + size > episode.heap)
			return;
	}
	errno = 4242;
	switch (draw(4)) {
	case 0:
		MUST(!posix_memalign((void **)&at, alignment, size));
		MUST((uintptr_t)at % alignment == 0);
		break;
	case 1:
		MUST((at = calloc(1, size)));
		for (i = 0; i < size; i += 64)
			MUST(!at[i]);
		break;
	case 2:
		MUST((at = realloc(NULL, size)));
		break;
	default:
		MUST((at = malloc(size)));
	}
	MUST(errno == 4242 && (uintptr_t)at % 16 == 0);
	keep(at, size);
}

static void free_block(void)
{
	struct block *block = any(0);

	if (block)
		drop(block);
}

static void change_size(void)
{
	struct block *block = any(0);
	size_t size = draw_size(8 * MIB), both;
	unsigned char *at;

	if (!block || me->bytes - block->size + size > episode.heap)
		return;
	both = (size < block->size ? size : block->size) & ~(size_t)7;
	/* errno may change: some try mremap of what madvise has made several
	   mappings of. */
	MUST((at = realloc(block->at, size)));
	compare(at, block->id, 0, both, both > 65536 ? 64 : 1);
	me->bytes += size - block->size;
	block->at = at;
	block->size = size;
	fill(at, block->id, both, size);
}

static void check_one(void)
{
	struct block *block = any(0);

	if (block)
		check(block);
}

/* Blocks that others free: a table under a lock that is itself from malloc, and
   that the program's handlers of forks take. */
static pthread_mutex_t *table_lock;
static struct block table[32];

static void exchange(void)
{
	struct block *block = any(0), other;
	int place = (int)draw(32);

	if (!block)
		return;
	me->keeps_whole++;
	MUST(!pthread_mutex_lock(table_lock));
	other = table[place];
	table[place] = *block;
	MUST(!pthread_mutex_unlock(table_lock));
	me->keeps_whole--;
	me->bytes += other.size - block->size;
	*block = other;
	if (other.at)
		compare(other.at, other.id, 0, other.size, 16);
	else
		forget(block);
}

#endif
