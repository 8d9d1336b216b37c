/* A thread has blocks of the heap be there ahead (MADV_POPULATE_WRITE) while the main
   thread forks: the kernel writes to each page for it, and must not be refused. Argument:
   number for calls by their numbers. */
#include "contract.h"
#include <sys/syscall.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static volatile int stop;
static volatile long calls;
static int by_number;

static void *populate(void *argument)
{
	size_t i;

	while (!stop)
		for (i = 0; i < heap_count; i++) {
			char *page = (char *)(((size_t)heap_blocks[i] + 4095) & ~(size_t)4095);

			if (by_number ? syscall(SYS_madvise, page, 8192, MADV_POPULATE_WRITE)
				      : madvise(page, 8192, MADV_POPULATE_WRITE))
				fail("block %zu: errno %d", i, errno);
			calls++;
		}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];
	int i;

	by_number = argc > 1 && !strcmp(argv[1], "number");
	fill_heap(60);
	/* A kernel before 5.14: nothing to try. */
	if (madvise(heap_blocks[0] + 4096 - (size_t)heap_blocks[0] % 4096, 4096, MADV_POPULATE_WRITE))
		right();
	for (i = 0; i < 2; i++)
		thread[i] = start(populate, NULL);
	while (calls < 100)
		usleep(100);
	for (i = 0; i < 6; i++) {
		pid_t child = fork();

		if (!child) {
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	stop = 1;
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(thread[i], NULL));
	check_heap("parent");
	right();
}
