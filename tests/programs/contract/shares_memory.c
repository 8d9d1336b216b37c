/* A process that shares the program's memory without being a thread of it (CLONE_VM alone)
   writes to the heap while the program forks: no write is lost. */
#include "contract.h"
#include <sched.h>
#include <sys/syscall.h>

#define BLOCKS 60

static volatile int is_over, has_begun;
static volatile long lost;

static volatile long *word_of(int block)
{
	return (volatile long *)(void *)(heap_blocks[block] + 4096);
}

static int count(void *argument)
{
	long mine = 0;
	int i;

	(void)argument;
	while (!is_over) {
		for (i = 0; i < BLOCKS; i++)
			if (*word_of(i) != mine)
				lost++;
		mine++;
		for (i = 0; i < BLOCKS; i++)
			*word_of(i) = mine;
		has_begun = 1;
	}
	return 0;
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t sharing, child;
	int i;

	fill_heap(BLOCKS);
	for (i = 0; i < BLOCKS; i++)
		*word_of(i) = 0;
	sharing = clone(count, stack + sizeof stack - 64, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
	CHECK(sharing > 0);
	while (!has_begun)
		usleep(1000);
	usleep(20000);
	for (i = 0; i < 3; i++) {
		child = fork();
		if (!child)
			_exit(0);
		if (child > 0)
			wait_for(child, "fork");
		usleep(20000);
	}
	is_over = 1;
	wait_for(sharing, "the process that shares memory");
	if (lost)
		fail("%ld writes were lost", lost);
	right();
}
