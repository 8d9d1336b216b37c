/* A fork with only so many mappings left below vm.max_map_count. Arguments:
   how many, other threads. */
#include "contract.h"

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int left = number(argc, argv, 1, 3), threads = number(argc, argv, 2, 0), i;
	size_t count = 0, limit = 100000;
	char *area;
	pid_t child;

	fill_heap(80);
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	area = mmap(NULL, limit * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(area != MAP_FAILED);
	while (count < limit && !mprotect(area + count * 8192, 4096, PROT_READ))
		count++;
	CHECK(count < limit);
	for (i = 0; i < left; i++)
		CHECK(!mprotect(area + --count * 8192, 4096, PROT_NONE));
	if (!(child = fork())) {
		check_heap("child");
		write_heap();
		check_heap("child");
		_exit(0);
	}
	write_heap();
	check_heap("parent");
	wait_for(child, "fork");
	right();
}
