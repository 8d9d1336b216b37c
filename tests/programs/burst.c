/* Threads that each take a block at the same time: prints how many got one in the heap's area.

   burst THREADS MIB */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t start;
static size_t len;

static void *take(void *unused)
{
	uintptr_t block;

	(void)unused;
	pthread_barrier_wait(&start);
	block = (uintptr_t)malloc(len);
	return (void *)(uintptr_t)(block >= 0x300000000000 && block < 0x500000000000);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 1, inside = 0, i;
	pthread_t *thread = malloc(sizeof *thread * threads);
	void *found;

	len = argc > 2 ? strtoull(argv[2], NULL, 0) << 20 : 0;
	pthread_barrier_init(&start, NULL, threads);
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, take, NULL))
			return 2;
	for (i = 0; i < threads; i++) {
		pthread_join(thread[i], &found);
		inside += found != NULL;
	}
	printf("%d of %d\n", inside, threads);
	return 0;
}
