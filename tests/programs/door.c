/* An allocator with a second door, and a program that uses it: a block from
   malloc goes back by sdallocx. Every block has a mark before it, so that one
   of another allocator is known.

   -DALLOCATOR: the library; else the program. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sdallocx(void *block, size_t size, int flags);

#ifdef ALLOCATOR
#include <sys/mman.h>

struct mark {
	size_t size;
	uint64_t word;
};

#define WORD 0x68756765746f6f6cull

static char *at, *end;

static struct mark *mark_of(void *block)
{
	struct mark *mark = (struct mark *)block - 1;
	if (mark->word != WORD) {
		static const char text[] = "door: a block of another allocator\n";
		_exit(write(2, text, sizeof text - 1) > 0 ? 9 : 8);
	}
	return mark;
}

void *memalign(size_t alignment, size_t size)
{
	if (alignment < sizeof(struct mark))
		alignment = sizeof(struct mark);
	size_t room = size + alignment + sizeof(struct mark);
	if (room > (size_t)(end - at)) {
		size_t chunk = room > 1 << 20 ? room : 1 << 20;
		at = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		end = at + chunk;
	}
	uintptr_t block = ((uintptr_t)at + sizeof(struct mark) + alignment - 1) & -alignment;
	at = (char *)block + size;
	at = (char *)(((uintptr_t)at + 15) & -16ul);
	if (at > end)
		at = end;
	((struct mark *)block)[-1] = (struct mark){size, WORD};
	return (void *)block;
}

void *malloc(size_t size)
{
	return memalign(16, size);
}

void *calloc(size_t count, size_t size)
{
	return memalign(16, count * size);
}

void free(void *block)
{
	if (block)
		mark_of(block);
}

void *realloc(void *block, size_t size)
{
	void *new = malloc(size);
	if (block) {
		size_t old = mark_of(block)->size;
		memcpy(new, block, old < size ? old : size);
	}
	return new;
}

size_t malloc_usable_size(void *block)
{
	return block ? mark_of(block)->size : 0;
}

void *mallocx(size_t size, int flags)
{
	(void)flags;
	return malloc(size);
}

void sdallocx(void *block, size_t size, int flags)
{
	(void)size;
	(void)flags;
	mark_of(block);
}
#else
int main(void)
{
	for (size_t i = 1; i < 1000; i++) {
		char *block = malloc(i * 100);
		memset(block, 1, i * 100);
		block = realloc(block, i * 200);
		if (block[i * 100 - 1] != 1)
			return 7;
		sdallocx(block, i * 200, 0);
	}
	puts("ok");
	return 0;
}
#endif
