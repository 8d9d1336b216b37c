/* Memory without malloc, as virtual machines have it.

   own_memory map|brk|malloc
   Fills 100 MB: mapped; from sbrk; from malloc. With -DOWN malloc is the program's own. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN ((size_t)100 << 20)

#ifdef OWN
void *malloc(size_t size)
{
	size_t *head = mmap(NULL, size + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (head == MAP_FAILED)
		return NULL;
	head[0] = size;
	return head + 8;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	size_t before = block ? ((size_t *)block)[-8] : 0;

	return block && moved ? memcpy(moved, block, before < size ? before : size) : moved;
}
#endif

int main(int argc, char **argv)
{
	char *memory, *small;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "malloc")) {
		memory = malloc(LEN);
		if (!memory)
			return 1;
		memset(memory, 1, LEN);
		free(memory);
		return 0;
	}
	small = malloc(100000);
	if (!small)
		return 1;
	memset(small, 1, 100000);
	if (!strcmp(argv[1], "brk")) {
		memory = sbrk(LEN);
		if (memory == (void *)-1)
			return 1;
		memset(memory, 1, LEN);
		return 0;
	}
	memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 1, LEN);
	return 0;
}
