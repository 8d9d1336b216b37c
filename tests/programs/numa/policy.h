/* Policies of ranges, by functions of libnuma. */
#ifndef POLICY_H
#define POLICY_H
#include "where.h"

enum { BIND = 2, INTERLEAVE = 3, STRICT = 1, MOVE = 2 };

long mbind(void *, unsigned long, int, const unsigned long *, unsigned long, unsigned);
long get_mempolicy(int *, unsigned long *, unsigned long, void *, int);
long set_mempolicy(int, const unsigned long *, unsigned long);
void numa_tonode_memory(void *, size_t, int);

/* Returns the first page boundary in a block. */
static char *page_of(char *at)
{
	return (char *)(((uintptr_t)at + PAGE - 1) & -PAGE);
}

static void policy(const char *what, char *at)
{
	unsigned long mask = 0;
	int mode = -1;

	if (get_mempolicy(&mode, &mask, 8 * sizeof mask, at, 2))
		fail("get_mempolicy");
	printf("%s policy=%d nodes=%lx\n", what, mode, mask);
	fflush(stdout);
}

static const unsigned long SECOND = 2, BOTH = 3;

static void bind(char *at, size_t len, int mode, const unsigned long *mask, unsigned flags)
{
	if (mbind(at, len, mode, mask, 8 * sizeof *mask, flags))
		fail("mbind");
}

#endif
