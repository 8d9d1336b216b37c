/* Other threads free what the forking thread has made, while a child gets copies: what
   they have freed by then is either free in the child or still in use, and the child
   allocates as it likes. A device may write to the heap (a registered buffer). */
#include "contract.h"
#include "ring.h"

#include <stdatomic.h>

#define SLOTS 60000
#define FORKS 5
#define FREERS 2

static _Atomic(char *) slot[SLOTS];
static _Atomic int stop;

static size_t size_of(size_t i) { return 16 + i * 37 % 1500; }

static void *free_blocks(void *argument)
{
	size_t i = (size_t)argument;

	while (!stop) {
		i = (i + 7919) % SLOTS;
		free(atomic_exchange(&slot[i], NULL));
	}
	return argument;
}

static char *marked(size_t size, int mark)
{
	return memset(get(size), mark, size);
}

static void check_mark(const char *block, size_t size, int mark)
{
	CHECK(block[0] == (char)mark && block[size - 1] == (char)mark && block[size / 2] == (char)mark);
}

/* What it allocates is nobody else's: twice, so that lists are taken and made. */
static void allocate(void)
{
	static char *block[SLOTS];
	int round;
	size_t i;

	for (round = 1; round < 3; round++) {
		for (i = 0; i < SLOTS; i++)
			block[i] = marked(size_of(i), (int)(i + (size_t)round));
		for (i = 0; i < SLOTS; i++)
			check_mark(block[i], size_of(i), (int)(i + (size_t)round));
		for (i = 0; i < SLOTS; i++)
			free(block[i]);
	}
}

int main(void)
{
	static struct ring ring;
	size_t i;
	int k;

	fill_heap(60);
	if (ring_begin(&ring, memset(get_aligned(4096, 65536), 0, 65536), 65536)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	for (k = 0; k < FORKS; k++) {
		pthread_t thread[FREERS];
		pid_t child;

		stop = 0;
		for (i = 0; i < SLOTS; i++)
			slot[i] = marked(size_of(i), 1);
		for (i = 0; i < FREERS; i++)
			CHECK(!pthread_create(&thread[i], NULL, free_blocks, (void *)(i * 5003)));
		child = fork();
		if (!child) {
			allocate();
			check_heap("child");
			_exit(0);
		}
		CHECK(child > 0 || errno == ENOMEM);
		if (child > 0)
			wait_for(child, "fork");
		stop = 1;
		for (i = 0; i < FREERS; i++)
			CHECK(!pthread_join(thread[i], NULL));
		for (i = 0; i < SLOTS; i++)
			free(slot[i]);
	}
	check_heap("parent");
	right();
}
