/* What programs that fill memory share: it is filled by pages, looked at again, and the
   kernel is asked what it lies on. Include it after _GNU_SOURCE. */
#ifndef FILLED_H
#define FILLED_H
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)

static void must(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static void fill(char *at, size_t len, size_t with)
{
	size_t i;

	for (i = 0; i < len; i += PAGE)
		*(size_t *)(at + i) = with + i;
}

static int holds(const char *at, size_t len, size_t with)
{
	size_t i;

	for (i = 0; i < len; i += PAGE)
		if (*(const size_t *)(at + i) != with + i)
			return 0;
	return 1;
}

/* A line of smaps_rollup, in kB. */
static long rollup(const char *name)
{
	FILE *from = fopen("/proc/self/smaps_rollup", "r");
	char line[200];
	long kb = -1;

	must(!from, "smaps_rollup");
	while (fgets(line, sizeof line, from))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), ": %ld", &kb);
	fclose(from);
	return kb;
}

#endif
