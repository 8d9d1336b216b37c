/* 96 MiB of initialised data, which nobody reads.

   remap            does nothing
   remap pool|thp   copies them to fresh huge pages; prints the microseconds */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define LEN ((size_t)96 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

__asm__(".data\n.globl contents\n.balign 2097152\ncontents: .fill 96 << 20, 1, 7\n");
extern char contents[];

static char *fresh(int pool)
{
	size_t len = LEN + HUGE_PAGE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (pool ? MAP_HUGETLB : 0);
	char *at = mmap(NULL, pool ? LEN : len, PROT_READ | PROT_WRITE, flags, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (!pool) {
		at += -(size_t)at % HUGE_PAGE;
		madvise(at, LEN, MADV_HUGEPAGE);
	}
	return at;
}

int main(int argc, char **argv)
{
	struct timespec before, after;
	char *to;

	if (argc < 2)
		return 0;
	to = fresh(!strcmp(argv[1], "pool"));
	if (!to) {
		perror("mmap");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &before);
	memcpy(to, contents, LEN);
	clock_gettime(CLOCK_MONOTONIC, &after);
	printf("%ld\n", (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000);
	return 0;
}
