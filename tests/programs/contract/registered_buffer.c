/* A buffer that is registered with io_uring, by system calls alone: what the
   kernel reads into it is seen by the program, after mprotect of a neighbour
   block, and after a fork. Arguments: other threads. */
#include "contract.h"
#include "ring.h"
#include <fcntl.h>

#define LENGTH 65536

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void read_into(struct ring *ring, int file, char *buffer, int byte, const char *when)
{
	char *wanted = get(LENGTH);
	int got;

	memset(wanted, byte, LENGTH);
	CHECK(pwrite(file, wanted, LENGTH, 0) == LENGTH);
	memset(buffer, 0, LENGTH);
	got = ring_read_fixed(ring, file, buffer, LENGTH);
	if (got != LENGTH)
		fail("%s: a fixed read gave %d", when, got);
	if (memcmp(buffer, wanted, LENGTH))
		fail("%s: the buffer does not hold the data", when);
	free(wanted);
}

int main(int argc, char **argv)
{
	char name[] = "/tmp/contract-XXXXXX", *buffer, *guard;
	int i, file, threads = number(argc, argv, 1, 0);
	struct ring ring;
	pid_t child;

	fill_heap(60);
	buffer = get_aligned(4096, LENGTH);
	guard = get_aligned(4096, LENGTH);
	memset(guard, 0, LENGTH);
	memset(buffer, 0, LENGTH);
	CHECK((file = mkstemp(name)) >= 0 && !unlink(name));
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	if (ring_begin(&ring, buffer, LENGTH)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	read_into(&ring, file, buffer, 'a', "at first");
	CHECK(!mprotect(guard, 4096, PROT_NONE));
	read_into(&ring, file, buffer, 'b', "after mprotect of a neighbour");
	CHECK(!mprotect(guard, 4096, PROT_READ | PROT_WRITE));
	read_into(&ring, file, buffer, 'c', "after mprotect back");
	if (!(child = fork())) {
		check_heap("child");
		memset(buffer, 'z', LENGTH);
		write_heap();
		_exit(0);
	}
	read_into(&ring, file, buffer, 'd', "after a fork");
	wait_for(child, "fork");
	read_into(&ring, file, buffer, 'e', "after the child");
	check_heap("parent");
	right();
}
