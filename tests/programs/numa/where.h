/* Prints the nodes of memory, by move_pages(2); fills memory and checks it. */
#ifndef WHERE_H
#define WHERE_H
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MB (1UL << 20)
#define PAGE 4096UL
#define NODES 8

static int nodes;

static void fail(const char *what)
{
	printf("FAILED %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* CPU N of the guest is on node N. */
static void run_on(int node)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(node, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		fail("sched_setaffinity");
}

static int nodes_of_machine(void)
{
	char path[64];
	int n = 0;

	do
		snprintf(path, sizeof path, "/sys/devices/system/node/node%d", n++);
	while (access(path, F_OK) == 0);
	return n - 1;
}

static unsigned long within(uintptr_t start, uintptr_t end, uintptr_t from, uintptr_t to)
{
	start = start < from ? from : start;
	end = end > to ? to : end;
	return start < end ? end - start : 0;
}

/* Returns the bytes of a range in hugetlb mappings. */
static unsigned long in_pool(void *at, size_t len)
{
	unsigned long start = 0, end = 0, kb, sum = 0;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "r");

	while (fgets(line, sizeof line, f)) {
		char c;

		if (sscanf(line, "%lx-%lx %c", &start, &end, &c) == 3)
			continue;
		if (sscanf(line, "KernelPageSize: %lu kB", &kb) == 1 && kb > 64)
			sum += within((uintptr_t)at, (uintptr_t)at + len, start, end);
	}
	fclose(f);
	return sum;
}

/* Adds the kilobytes of a range on each node. */
static void count(unsigned long on[NODES + 1], char *at, size_t len)
{
	enum { BATCH = 512 };
	uintptr_t page = (uintptr_t)at & -PAGE, end = (uintptr_t)at + len;

	while (page < end) {
		void *pages[BATCH];
		int status[BATCH], n;

		for (n = 0; n < BATCH && page < end; n++, page += PAGE)
			pages[n] = (void *)page;
		if (syscall(SYS_move_pages, 0, (long)n, pages, NULL, status, 0))
			fail("move_pages");
		for (int i = 0; i < n; i++)
			on[status[i] >= 0 && status[i] < NODES ? status[i] : NODES] += PAGE >> 10;
	}
}

static void show(const char *what, const unsigned long on[NODES + 1], unsigned long pool)
{
	char text[256];
	int len = 0;

	for (int n = 0; n < nodes; n++)
		len += snprintf(text + len, sizeof text - len, " n%d=%lu", n, on[n]);
	printf("%s%s none=%lu pool=%lu\n", what, text, on[NODES], pool >> 10);
	fflush(stdout);
}

static void where(const char *what, void *at, size_t len)
{
	unsigned long on[NODES + 1] = {0};

	count(on, at, len);
	show(what, on, in_pool(at, len));
}

/* Fills a range with values that identify block and place. */
static void fill(char *at, size_t len, int salt)
{
	for (size_t i = 0; i + 8 <= len; i += 512)
		*(uint64_t *)(at + i) = (i + 1) * 2654435761u + salt;
}

static int is_filled(const char *at, size_t len, int salt)
{
	for (size_t i = 0; i + 8 <= len; i += 512)
		if (*(const uint64_t *)(at + i) != (i + 1) * 2654435761u + salt)
			return 0;
	return 1;
}

static void check(const char *what, const char *at, size_t len, int salt)
{
	if (!is_filled(at, len, salt)) {
		printf("FAILED %s: contents\n", what);
		fflush(stdout);
		_exit(1);
	}
}

static void *block(size_t len)
{
	void *at = malloc(len);

	if (!at)
		fail("malloc");
	return at;
}

#endif
