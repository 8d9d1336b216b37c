/* Threads that end in many ways, with destructors that allocate: memory does not
   grow, and what destructors do works. */
#include "contract.h"

static pthread_key_t key;
static int kind;
static void *kept;

static void destroy(void *value __attribute__((unused)))
{
	char *block = get(3000);

	memset(block, 1, 3000);
	free(block);
	free(get(200000));
}

static void *end(void *argument)
{
	pthread_setspecific(key, (void *)1);
	free(get(10000));
	if (kind == 1)
		kept = get(20000);
	if (kind == 2)
		pthread_exit(NULL);
	if (kind == 3)
		free(kept);
	if (kind == 4)
		for (;;)
			pause();
	return argument;
}

static long resident(void)
{
	FILE *statm = fopen("/proc/self/statm", "r");
	long size, pages;

	CHECK(statm && fscanf(statm, "%ld %ld", &size, &pages) == 2);
	fclose(statm);
	return pages * 4;
}

static void several(int count)
{
	int i;

	for (i = 0; i < count; i++) {
		pthread_t thread;

		if (kind == 3)
			kept = get(20000);
		thread = start(end, NULL);
		if (kind == 4)
			pthread_cancel(thread);
		CHECK(!pthread_join(thread, NULL));
		if (kind == 1)
			free(kept);
	}
}

int main(void)
{
	long before, after;

	pthread_key_create(&key, destroy);
	for (kind = 0; kind < 5; kind++) {
		several(300);
		before = resident();
		several(1000);
		after = resident();
		if (after - before > 4000)
			fail("a thousand threads of kind %d leave %ld KiB", kind, after - before);
	}
	right();
}
