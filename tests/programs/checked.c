/* A program for sanitizers: blocks of every kind, then on request a write past the end.

   checked [overflow] */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "checked: %s\n", what);
	exit(7);
}

static void fill(char *p, size_t size)
{
	if (!p || malloc_usable_size(p) < size)
		fail("a block is too small");
	memset(p, 7, size);
}

static void *churn(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < 200; i++) {
		size_t size = i * 977 % 300000 + 1;
		char *p = malloc(size);
		fill(p, size);
		p = realloc(p, size * 2);
		fill(p, size * 2);
		free(p);
		p = calloc(3, size);
		if (p[3 * size - 1])
			fail("a block is not zero");
		free(p);
	}
	return NULL;
}

static void aligned(void)
{
	void *p;
	if (posix_memalign(&p, 4096, 10000))
		fail("posix_memalign");
	fill(p, 10000);
	free(p);
	p = aligned_alloc(64, 640);
	fill(p, 640);
	free(p);
	p = memalign(1 << 21, 1 << 21);
	fill(p, 1 << 21);
	free(p);
}

int main(int count, char **words)
{
	pthread_t thread[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, churn, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	aligned();
	char *shared = mmap(NULL, 5 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *volatile large = malloc(20 << 20);
	fill(large, 20 << 20);
	pid_t child = fork();
	if (child == 0) {
		shared[100] = large[100];
		free(large);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("%d %d\n", shared[100], large[20 << 19]);
	fflush(stdout);
	if (count > 1)
		large[20 << 20] = 1;
	free(large);
	return 0;
}
