/* Fills memory of one kind, and prints what smaps says of the mappings in which it
   lies: kB of pools, kB of transparent huge pages; "refused" where there is none.

   kinds data|heap|shm */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (24ul << 20)

static char data[SIZE] = {1};

static void print(unsigned long start, unsigned long end)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long from = 0, to = 0, kb, pool = 0, thp = 0;
	char line[1024], name[64];

	while (smaps && fgets(line, sizeof line, smaps)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2 || to <= start || end <= from)
			continue;
		if (sscanf(line, "%63s %lu kB", name, &kb) != 2)
			continue;
		if (!strcmp(name, "Private_Hugetlb:") || !strcmp(name, "Shared_Hugetlb:"))
			pool += kb;
		if (!strcmp(name, "AnonHugePages:") || !strcmp(name, "ShmemPmdMapped:"))
			thp += kb;
	}
	printf("%lu %lu\n", pool, thp);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	char *p = data;
	size_t i;

	if (!strcmp(kind, "heap"))
		p = malloc(SIZE);
	if (!strcmp(kind, "shm"))
		p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!p || p == MAP_FAILED) {
		puts("refused");
		return 0;
	}
	for (i = 0; i < SIZE; i += 4096)
		p[i]++;
	print((unsigned long)p, (unsigned long)p + SIZE);
	return 0;
}
