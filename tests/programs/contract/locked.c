/* Memory that the program has locked stays locked when the heap moves for a
   fork. */
#include "contract.h"
#include "mapping_flags.h"

/* Or needs no lock, being of hugetlb pages. */
static int is_locked(const void *address)
{
	return has_flag(" lo", address) || has_flag(" ht", address);
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
