/* Locked memory. Without arguments: an mlocked block stays locked when the heap moves before a
   fork. With arguments: allocates BEFORE MiB, then THEN MiB after MCL_FUTURE. The second part is
   locked, but not the memory that the heap only reserves.

   mlocked [BEFORE THEN] */
#include "contract.h"

/* Whether the mapping of an address has this flag of VmFlags, given with a leading blank. */
static int has_flag(const char *flag, const void *address)
{
	return strstr(read_range(address, 1).flags, flag) != NULL;
}

/* Hugetlb pages count as locked, since they are never swapped. */
static int is_locked(const void *address)
{
	return has_flag(" lo", address) || has_flag(" ht", address);
}

static size_t locked_bytes(void)
{
	unsigned long value = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file);
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "VmLck: %lu", &value) == 1)
			break;
	fclose(file);
	return (size_t)value * 1024;
}

static char *allocate(int mib)
{
	char *block = NULL;

	for (; mib > 0; mib--)
		memset(block = get(MIB), 1, MIB);
	return block;
}

static void check_lock_future(int before, int then)
{
	char *last;

	allocate(before);
	CHECK(!mlockall(MCL_FUTURE));
	last = allocate(then);
	/* Sizes are rounded up to size classes and huge pages. */
	if (locked_bytes() > (size_t)(then + then / 8 + 8) * MIB)
		fail("%zu MiB are locked for %d", locked_bytes() / MIB, then);
	if (locked_bytes() < (size_t)(then - 8) * MIB)
		fail("only %zu MiB of %d are locked", locked_bytes() / MIB, then);
	CHECK(has_flag(" lo", last) && has_flag(" lo", last + MIB - 1));
	pass();
}

int main(int argc, char **argv)
{
	char *block;
	pid_t child;

	if (argc > 2)
		check_lock_future(number(argc, argv, 1, 0), number(argc, argv, 2, 100));
	fill_heap(64);
	block = memset(get(70000), 7, 70000);
	CHECK(!mlock(block, 70000));
	CHECK(is_locked(block) && is_locked(block + 69999));
	if (!(child = fork()))
		_exit(0);
	wait_for(child, "fork");
	CHECK(is_locked(block) && is_locked(block + 69999));
	CHECK(block[0] == 7 && block[69999] == 7);
	CHECK(!munlock(block, 70000));
	check_heap("parent");
	pass();
}
