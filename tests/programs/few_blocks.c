/* Allocates 40 MiB, and four small blocks in each of 1000 threads. Prints the heap's pages while
 * all threads live. */
#include <pthread.h>
#include "heap_pages.h"

enum { THREADS = 1000, BLOCKS = 4 };

static pthread_barrier_t allocated, printed;

static void *allocate_blocks(void *arg)
{
	char *block[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		block[i] = malloc(16 << i);
		memset(block[i], 1, 16 << i);
	}
	pthread_barrier_wait(&allocated);
	pthread_barrier_wait(&printed);
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	return arg;
}

int main(void)
{
	static pthread_t thread[THREADS];
	pthread_attr_t small_stack;
	char *large = malloc(40 << 20);

	memset(large, 1, 40 << 20);
	pthread_attr_init(&small_stack);
	pthread_attr_setstacksize(&small_stack, 64 << 10);
	pthread_barrier_init(&allocated, NULL, THREADS + 1);
	pthread_barrier_init(&printed, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(thread + i, &small_stack, allocate_blocks, NULL))
			return 1;
	pthread_barrier_wait(&allocated);
	print_heap_pages("full");
	pthread_barrier_wait(&printed);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	free(large);
	return 0;
}
