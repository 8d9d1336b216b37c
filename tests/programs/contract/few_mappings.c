/* A fork with only so many mappings left below vm.max_map_count. Arguments:
   how many, other threads, whether a buffer of the heap is registered with io_uring. */
#include "contract.h"
#include "ring.h"

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
	struct ring ring;
	char *area;
	pid_t child;

	fill_heap(80);
	if (number(argc, argv, 3, 0) && ring_begin(&ring, heap_blocks[30], 65536)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
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
