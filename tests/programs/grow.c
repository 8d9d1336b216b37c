/* Lets a block grow by realloc from 1 MiB by half each time, checks what it
   held, shrinks it again, and prints the most memory that the process had and
   what smaps says of it at its largest.

   grow MiB */
#include <stdint.h>
#include "judge.h"

#define MIB (1ul << 20)

static void fill(uint64_t *p, size_t from, size_t to)
{
	size_t i;

	for (i = from / 8; i < to / 8; i++)
		p[i] = i * 0x9e3779b97f4a7c15u;
}

static int holds(const uint64_t *p, size_t size)
{
	size_t i;

	for (i = 0; i < size / 8; i++)
		if (p[i] != i * 0x9e3779b97f4a7c15u)
			return 0;
	return 1;
}

/* The most base and transparent huge pages that there have been, in kB. */
static unsigned long peak(void)
{
	unsigned long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %lu", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

static void *resized(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		perror("grow");
		exit(3);
	}
	return p;
}

int main(int argc, char **argv)
{
	size_t most = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1024) << 20, size = MIB, moves = 0;
	uint64_t *p = malloc(size);

	fill(p, 0, size);
	while (size < most) {
		size_t larger = size + size / 2 < most ? size + size / 2 : most;
		uintptr_t before = (uintptr_t)p;

		p = resized(p, larger);
		moves += (uintptr_t)p != before && larger > 64 * MIB;
		fill(p, size, larger);
		size = larger;
	}
	print_judged("grown");
	printf("peak_kb=%lu moves=%zu\n", peak(), moves);
	if (!holds(p, size))
		return 4;
	p = resized(p, most / 4);
	if (!holds(p, most / 4))
		return 5;
	print_judged("shrunk");
	p = resized(p, MIB);
	if (!holds(p, MIB))
		return 6;
	free(p);
	p = NULL;
	puts("ok");
	return 0;
}
