/* Fills a heap in one of several ways, checks every byte, and prints what smaps says.

   blocks small|medium|one|threads|realloc [MiB] */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#include "heap_pages.h"

static size_t total = 1024ul << 20;

static void *need(void *p)
{
	if (!p) {
		perror("blocks");
		exit(3);
	}
	return p;
}

/* Fills blocks of one size, each with its own number, and checks them. */
static void fill(size_t size, size_t bytes)
{
	size_t n = bytes / size, i, k;
	uint32_t **block = need(malloc(n * sizeof *block));

	for (i = 0; i < n; i++) {
		block[i] = need(malloc(size));
		for (k = 0; k < size / 4; k++)
			block[i][k] = (uint32_t)(i * 2654435761u + k);
	}
	for (i = 0; i < n; i++)
		for (k = 0; k < size / 4; k++)
			if (block[i][k] != (uint32_t)(i * 2654435761u + k)) {
				fprintf(stderr, "block %zu is damaged\n", i);
				exit(4);
			}
}

static void *fill_part(void *arg)
{
	(void)arg;
	fill(1000, total / 8);
	fill(100000, total / 8);
	return NULL;
}

static void grow(void)
{
	size_t size, i, had = 0;
	uint32_t *p = NULL;

	for (size = 1 << 20; size <= total; size += size / 2) {
		p = need(realloc(p, size));
		for (i = had; i < size / 4; i++)
			p[i] = (uint32_t)i;
		had = size / 4;
	}
	for (i = 0; i < had; i++)
		if (p[i] != (uint32_t)i) {
			fprintf(stderr, "word %zu is damaged\n", i);
			exit(4);
		}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "small";

	if (argc > 2)
		total = (size_t)atol(argv[2]) << 20;
	if (!strcmp(mode, "small"))
		fill(64, total);
	else if (!strcmp(mode, "medium"))
		fill(200000, total);
	else if (!strcmp(mode, "one"))
		fill(total, total);
	else if (!strcmp(mode, "realloc"))
		grow();
	else if (!strcmp(mode, "threads")) {
		pthread_t thread[4];
		int i;

		for (i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, fill_part, NULL);
		for (i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	} else
		return 2;
	print_heap_pages(mode);
	return 0;
}
