/* A child has all memory as it was at one moment, also what a device may write to:
   threads count in a block of the heap and then in a static word, and the child finds
   both counts at the same number, or the first one ahead by one. With an argument of 1
   another thread opens and closes streams, which holds a lock that libc takes for a
   fork while it writes to the heap: whoever waits for that must get on. */
#include "contract.h"
#include "ring.h"

#define COUNTERS 2
#define FORKS 40

static volatile long *in_heap[COUNTERS];
static volatile long is_static[COUNTERS][64];

static void *count(void *argument)
{
	size_t which = (size_t)argument;
	long next;

	for (next = 1;; next++) {
		*in_heap[which] = next;
		is_static[which][0] = next;
	}
	return argument;
}

static void *use_streams(void *argument)
{
	for (;;) {
		FILE *file = fopen("/dev/null", "w");

		CHECK(file && fputc('y', file) == 'y' && !fclose(file));
	}
	return argument;
}

static void check_counts(void)
{
	int i;

	for (i = 0; i < COUNTERS; i++) {
		long ahead = *in_heap[i] - is_static[i][0];

		if (ahead < 0 || ahead > 1)
			fail("the heap's count is %ld, %ld ahead of the other", *in_heap[i], ahead);
	}
}

int main(int argc, char **argv)
{
	int i, with_streams = number(argc, argv, 1, 0);
	static struct ring ring;
	double begun, longest = 0;

	fill_heap(60);
	if (ring_begin(&ring, memset(get_aligned(4096, 65536), 0, 65536), 65536)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	for (i = 0; i < COUNTERS; i++) {
		in_heap[i] = get(MIB);
		memset((void *)in_heap[i], 0, MIB);
		start(count, (void *)(size_t)i);
	}
	if (with_streams)
		start(use_streams, NULL);
	usleep(20000);
	for (i = 0; i < FORKS; i++) {
		begun = seconds();
		pid_t child = fork();

		if (!child) {
			/* A thread that held libc's lock was let through. */
			if (!with_streams)
				check_counts();
			check_heap("child");
			_exit(0);
		}
		if (seconds() - begun > longest)
			longest = seconds() - begun;
		wait_for(child, "fork");
		usleep(1000);
	}
	if (getenv("CONTRACT_TIMES"))
		fprintf(stderr, "longest fork: %.1f ms\n", longest * 1000);
	check_heap("parent");
	right();
}
