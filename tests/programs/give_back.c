/* Allocates and frees MiB, then allocates and frees small blocks until 95 % is given back.
   Prints the heap's pages when full, freed, and at the end. Exits with 2 after 20 seconds.
   `confined` is `one` under a filter that kills for MADV_REMOVE, which no malloc needs.

   give_back mixed|one|threads|confined MiB */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "filter.h"
#include "heap_pages.h"

#define THREADS 4

static size_t total;

static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* 60 % below 1 KiB, 30 % to 32 KiB, 10 % to 256 KiB. */
static size_t any_size(uint64_t *random)
{
	unsigned kind = next(random) % 100;

	if (kind < 60)
		return 16 + next(random) % 1008;
	if (kind < 90)
		return 1024 + next(random) % (31 << 10);
	return (32 << 10) + next(random) % (224 << 10);
}

static void *filled(size_t size)
{
	char *volatile p = malloc(size);

	if (!p) {
		perror("give_back");
		exit(3);
	}
	memset(p, 1, size);
	return p;
}

static pthread_barrier_t full;

static void *mixed(void *arg)
{
	size_t want = *(size_t *)arg, most = want / 4096, n = 0, i;
	void **block = filled(most * sizeof *block);
	uint64_t random = 88172645463325252u;

	while (want && n < most) {
		size_t size = any_size(&random);

		block[n++] = filled(size);
		want -= size < want ? size : want;
	}
	pthread_barrier_wait(&full);
	pthread_barrier_wait(&full);
	for (i = 0; i < n; i++)
		free(block[(i * 7919) % n]), block[(i * 7919) % n] = NULL;
	for (i = 0; i < n; i++)
		free(block[i]);
	free(block);
	return NULL;
}

/* Each thread fills a part and ends. */
static void by_threads(int n)
{
	size_t part = total / (size_t)n;
	pthread_t thread[THREADS];
	int i;

	pthread_barrier_init(&full, NULL, (unsigned)n + 1);
	for (i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, mixed, &part);
	pthread_barrier_wait(&full);
	print_heap_pages("full");
	pthread_barrier_wait(&full);
	for (i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
}

static void *print_full(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&full);
	print_heap_pages("full");
	pthread_barrier_wait(&full);
	return NULL;
}

static void by_main(void)
{
	pthread_t thread;

	pthread_barrier_init(&full, NULL, 2);
	pthread_create(&thread, NULL, print_full, NULL);
	mixed(&total);
	pthread_join(thread, NULL);
}

static int confine(void)
{
	struct filter filter[] = {
	    {0x20, 0, 0, 0}, {0x15, 0, 3, SYS_madvise}, {0x20, 0, 0, 32}, {0x15, 0, 1, MADV_REMOVE}, {0x06, 0, 0, 0x80000000},
	    {0x06, 0, 0, 0x7fff0000},
	};
	struct filters all = {sizeof filter / sizeof *filter, filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &all);
}

static int is_given_back(void)
{
	struct heap_pages pages = read_heap_pages();

	return pages.resident >> 10 < (total >> 20) / 20;
}

int main(int argc, char **argv)
{
	/* stdio's own buffer would be a block in the heap. */
	static char out[BUFSIZ];
	time_t end;

	if (argc != 3)
		return 1;
	setvbuf(stdout, out, _IOFBF, sizeof out);
	total = strtoul(argv[2], NULL, 0) << 20;
	if (!strcmp(argv[1], "confined") && confine())
		return 4;
	if (!strcmp(argv[1], "one") || !strcmp(argv[1], "confined")) {
		void *block = filled(total);

		print_heap_pages("full");
		free(block);
	} else if (!strcmp(argv[1], "threads")) {
		by_threads(THREADS);
	} else {
		by_main();
	}
	print_heap_pages("freed");
	end = time(NULL) + 20;
	while (!is_given_back() && time(NULL) < end) {
		usleep(20000);
		free(filled(100));
	}
	print_heap_pages("later");
	return is_given_back() ? 0 : 2;
}
