/* A plugin that has blocks of its own, takes those of others, and has handlers
   of forks that allocate. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void around_a_fork(void)
{
	free(malloc(100000));
}

__attribute__((constructor)) static void begin(void)
{
	char *block = malloc(5000);

	memset(block, 1, 5000);
	free(block);
	pthread_atfork(around_a_fork, around_a_fork, around_a_fork);
}

void *plugin_give(size_t size)
{
	return malloc(size);
}

void plugin_take(void *block)
{
	free(block);
}
