/* Forks of a thread that has a stack, in a block of the heap, on the page next to one
   with a buffer that is registered with io_uring, and no page left in the pool.
   Argument: begins, ends (a stack for signals that begins, or ends, where the two pages
   meet), thread (a thread's own stack that begins there). */
#include "contract.h"
#include "ring.h"

#define LENGTH 65536

static char *buffer;

static void *forks(void *where)
{
	int i;

	for (i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("%s: no fork (errno %d)", (char *)where, errno);
		if (!child) {
			memset(buffer, 'z', LENGTH);
			check_heap("child");
			_exit(0);
		}
		wait_for(child, where);
		CHECK(buffer[0] == 'a' && buffer[LENGTH - 1] == 'a');
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "begins";
	char *block, *border, *signals;
	pthread_attr_t attributes;
	struct ring ring;
	pthread_t thread;
	stack_t stack;

	fill_heap(20);
	block = get_aligned(2 * MIB, 8 * MIB);
	memset(block, 'a', 8 * MIB);
	border = block + 4 * MIB;
	buffer = strcmp(where, "ends") ? border - LENGTH : border;
	signals = strcmp(where, "ends") ? border : border - LENGTH;
	stack = (stack_t){.ss_sp = signals, .ss_size = LENGTH};
	CHECK(!pthread_attr_init(&attributes));
	if (strcmp(where, "thread"))
		CHECK(!sigaltstack(&stack, NULL));
	else
		CHECK(!pthread_attr_setstack(&attributes, signals, LENGTH));
	if (ring_begin(&ring, buffer, LENGTH)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	empty_pool();
	if (strcmp(where, "thread")) {
		forks((void *)(uintptr_t)where);
	} else {
		CHECK(!pthread_create(&thread, &attributes, forks, (void *)(uintptr_t)where));
		CHECK(!pthread_join(thread, NULL));
	}
	check_heap("parent");
	right();
}
