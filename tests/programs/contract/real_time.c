/* Two threads of real-time priorities on one processor share the heap, which
   must go on for both: whoever spins for the other stands still for ever. Needs
   root. */
#include "contract.h"
#include <sched.h>

static volatile long done[2];
static cpu_set_t one;

static void work(unsigned *seed)
{
	size_t size;
	char *block;

	*seed = *seed * 1103515245 + 12345;
	size = 65536 + (*seed >> 8) % 900000;
	block = get(size);
	block[size / 2] = 1;
	free(block);
}

static void *compete(void *argument)
{
	long which = (long)argument;
	struct sched_param priority = {.sched_priority = which ? 50 : 10};
	unsigned seed = (unsigned)which + 1;
	int i;

	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof one, &one));
	CHECK(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority));
	for (;;) {
		if (which)
			usleep(50);
		for (i = 0; i < 3; i++)
			work(&seed);
		done[which]++;
	}
	return NULL;
}

int main(void)
{
	cpu_set_t all;
	int i, processors, before[2] = {0, 0};

	fill_heap(64);
	CHECK(!sched_getaffinity(0, sizeof all, &all));
	processors = CPU_COUNT(&all);
	CPU_ZERO(&one);
	for (i = CPU_SETSIZE - 1; !CPU_ISSET(i, &all); i--)
		;
	CPU_SET(i, &one);
	for (i = 0; i < 2; i++)
		start(compete, (void *)(long)i);
	/* The judge has another processor, where there is one. */
	if (processors > 1) {
		cpu_set_t rest;

		CPU_XOR(&rest, &all, &one);
		CHECK(!sched_setaffinity(0, sizeof rest, &rest));
	}
	for (i = 0; i < 4; i++) {
		usleep(500000);
		if (done[0] == before[0] && done[1] == before[1])
			fail("both stand still after %d and %d rounds", before[0], before[1]);
		before[0] = (int)done[0];
		before[1] = (int)done[1];
	}
	CHECK(before[1] > 0);
	right();
}
