/* A library whose constructor ran before ours has handlers of forks that
   allocate; one block lives from `prepare` to `parent` and `child`. Built
   twice: as that library with -DLIBRARY. */
#include "contract.h"

void library(void);

#ifdef LIBRARY
static char *kept;

static void work(void)
{
	char *block[40];
	int i;

	for (i = 0; i < 40; i++) {
		block[i] = malloc(50000 + (size_t)i * 9000);
		memset(block[i], 1, 50000 + (size_t)i * 9000);
	}
	for (i = 0; i < 40; i++)
		free(block[i]);
}

static void prepare(void)
{
	work();
	kept = malloc(200 << 10);
	memset(kept, 'k', 200 << 10);
}

static void after(void)
{
	if (kept[0] != 'k' || kept[(200 << 10) - 1] != 'k')
		abort();
	free(kept);
	work();
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(prepare, after, after);
}

void library(void)
{
}
#else
static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int i, mib = number(argc, argv, 1, 0), threads = number(argc, argv, 2, 0);

	library();
	fill_heap((size_t)mib);
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	for (i = 0; i < 3; i++) {
		pid_t child = fork();

		if (!child) {
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	check_heap("parent");
	right();
}
#endif
