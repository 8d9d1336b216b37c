/* A clone past libc, with a small alternate stack that the net must not run
   over, and both sides that write to all of the heap. Arguments: bytes of the
   alternate stack, other threads. */
#include "contract.h"
#include <sys/syscall.h>

static char area[MIB] __attribute__((aligned(4096)));

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void check_below(const char *who, size_t size)
{
	size_t i;

	for (i = 0; i < sizeof area - size; i++)
		if (area[i] != 0x5a)
			fail("%s: %zu bytes below the alternate stack were written to", who, sizeof area - size - i);
}

int main(int argc, char **argv)
{
	size_t size = (size_t)number(argc, argv, 1, 8192);
	int i, threads = number(argc, argv, 2, 0);
	stack_t stack = {.ss_sp = area + sizeof area - size, .ss_size = size};
	pid_t child;

	fill_heap(64);
	memset(area, 0x5a, sizeof area);
	CHECK(!sigaltstack(&stack, NULL));
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
#ifdef __s390x__
	child = (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
	if (!child) {
		write_heap();
		check_heap("child");
		check_below("child", size);
		_exit(0);
	}
	write_heap();
	check_heap("parent");
	check_below("parent", size);
	wait_for(child, "clone");
	right();
}
