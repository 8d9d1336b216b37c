/* Memory that the program has locked stays locked when the heap moves for a
   fork. */
#include "contract.h"

/* Whether the mapping of an address has the flag `lo` in smaps, or needs none,
   being of hugetlb pages. */
static int is_locked(const void *address)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long from, to;
	int inside = 0, locked = -1;
	char line[512];

	CHECK(smaps);
	while (locked < 0 && fgets(line, sizeof line, smaps)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from <= (size_t)address && (size_t)address < to;
		else if (inside && !strncmp(line, "VmFlags:", 8))
			locked = strstr(line, " lo") || strstr(line, " ht");
	}
	fclose(smaps);
	CHECK(locked >= 0);
	return locked;
}

int main(void)
{
	char *block;
	pid_t child;

	fill_heap(64);
	block = get(70000);
	memset(block, 7, 70000);
	CHECK(!mlock(block, 70000));
	CHECK(is_locked(block) && is_locked(block + 69999));
	if (!(child = fork()))
		_exit(0);
	wait_for(child, "fork");
	if (!is_locked(block) || !is_locked(block + 69999))
		fail("a locked block is not locked any more after a fork");
	CHECK(block[0] == 7 && block[69999] == 7);
	CHECK(!munlock(block, 70000));
	check_heap("parent");
	right();
}
