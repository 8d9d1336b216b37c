/* A buffer that is registered with io_uring, by system calls alone: what the
   kernel reads into it is seen by the program, after mprotect of a neighbour
   block, and after a fork. Arguments: other threads; 1 where the first thread
   has ended by then. */
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

static int threads;

static void go_on(void)
{
	char name[] = "/tmp/contract-XXXXXX", *buffer, *guard;
	struct ring ring;
	int i, file;
	pid_t child;

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

static void *after_first(void *first)
{
	CHECK(!pthread_join(*(pthread_t *)first, NULL));
	/* The kernel ends it a moment later. */
	while (!access("/proc/self/exe", F_OK))
		usleep(1000);
	go_on();
	return NULL;
}

int main(int argc, char **argv)
{
	static pthread_t first;

	threads = number(argc, argv, 1, 0);
	first = pthread_self();
	fill_heap(60);
	if (number(argc, argv, 2, 0)) {
		start(after_first, &first);
		pthread_exit(NULL);
	}
	go_on();
}
