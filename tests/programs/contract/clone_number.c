/* A clone by its number, with the child's own number in a block of the heap, beside a buffer
   that is registered with io_uring: each child finds its number there, its parent none.
   Arguments: other threads; whether by clone3. */
#include "contract.h"
#include "ring.h"

#define CHILD_SETTID 0x01000000

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static pid_t clone_to(int *place, int by_clone3)
{
	uint64_t arguments[8] = {CHILD_SETTID, 0, (uint64_t)(size_t)place, 0, SIGCHLD};
	long flags = CHILD_SETTID | SIGCHLD;

#ifdef SYS_clone3
	if (by_clone3)
		return (pid_t)syscall(SYS_clone3, arguments, sizeof arguments);
#else
	(void)arguments, (void)by_clone3;
#endif
#if defined __x86_64__
	return (pid_t)syscall(SYS_clone, flags, 0, 0, place, 0);
#elif defined __s390x__
	return (pid_t)syscall(SYS_clone, 0, flags, 0, place, 0);
#else
	return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, place);
#endif
}

int main(int argc, char **argv)
{
	int threads = number(argc, argv, 1, 0), by_clone3 = number(argc, argv, 2, 0), i;
	struct ring ring;
	int *place;

	fill_heap(40);
	place = (int *)(void *)(heap_blocks[20] + 4096);
	if (ring_begin(&ring, heap_blocks[20] + 65536, 65536)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	for (i = 0; i < 4; i++) {
		int before = *place;
		pid_t child = clone_to(place, by_clone3);

		CHECK(child >= 0);
		if (!child) {
			if (*place != getpid())
				fail("the child %d finds %d", getpid(), *place);
			*place = before;
			check_heap("child");
			_exit(0);
		}
		CHECK(*place == before);
		wait_for(child, "clone");
	}
	/* Where nothing can be written the number is left out. */
	if (!clone_to((int *)16, by_clone3))
		_exit(0);
	CHECK(wait(&i) > 0 && !i);
	right();
}
