/* Threads that take and free blocks of random sizes by every call of the malloc family,
   up to so much together, each of them in turn some times; each block holds what was
   written to it, and no call that succeeds changes errno. The main thread forks meanwhile
   if it is to.

   in_a_group THREADS MIB LEAST MOST TIMES FORKS */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_THREADS 64

struct block {
	unsigned char *at;
	size_t size;
};

static size_t each, least, most, times;
static atomic_int done;

static void fail(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

static unsigned char mark(const struct block *b)
{
	return (unsigned char)(b->size * 7 + 1);
}

static void fill(struct block *b)
{
	memset(b->at, mark(b), b->size);
}

static void check(const struct block *b)
{
	size_t i;

	for (i = 0; i < b->size; i += 61)
		if (b->at[i] != mark(b))
			fail("a block does not hold what was written");
	if (malloc_usable_size(b->at) < b->size)
		fail("a block is smaller than was asked for");
}

static void take(struct block *b, unsigned *seed)
{
	size_t i, align = 16;
	void *p = NULL;

	b->size = least + rand_r(seed) % (most - least + 1);
	errno = 77;
	switch (rand_r(seed) % 8) {
	case 0:
		p = calloc(1, b->size);
		for (i = 0; p && i < b->size; i++)
			if (((char *)p)[i])
				fail("calloc gave no zeros");
		break;
	case 1:
		align = 16u << rand_r(seed) % 9;
		if (posix_memalign(&p, align, b->size))
			p = NULL;
		break;
	case 2:
		align = 16u << rand_r(seed) % 9;
		p = memalign(align, b->size);
		break;
	default:
		p = malloc(b->size);
	}
	if (!p)
		fail("no block");
	if (errno != 77)
		fail("errno changed");
	if ((size_t)p % align)
		fail("a block is not aligned");
	b->at = p;
	fill(b);
}

static void change(struct block *b, unsigned *seed)
{
	size_t i, old = b->size, size = least + rand_r(seed) % (most - least + 1);
	unsigned char before = mark(b);

	errno = 77;
	b->at = realloc(b->at, size);
	if (!b->at)
		fail("no larger block");
	if (errno != 77)
		fail("errno changed by realloc");
	for (i = 0; i < old && i < size; i += 61)
		if (b->at[i] != before)
			fail("realloc lost what a block held");
	b->size = size;
	fill(b);
}

static void *work(void *arg)
{
	unsigned seed = (unsigned)(size_t)arg * 7919 + 1;
	size_t room = each / least + 16, count = 0, have = 0, i;
	size_t left = each / ((least + most) / 2) * times;
	struct block *all = calloc(room, sizeof *all);

	while (left--) {
		while (count && have + most > each) {
			i = rand_r(&seed) % count;
			check(&all[i]);
			have -= all[i].size;
			free(all[i].at);
			all[i] = all[--count];
		}
		if (count && rand_r(&seed) % 8 == 0) {
			i = rand_r(&seed) % count;
			have -= all[i].size;
			change(&all[i], &seed);
			have += all[i].size;
			continue;
		}
		take(&all[count], &seed);
		have += all[count++].size;
	}
	while (count) {
		check(&all[--count]);
		free(all[count].at);
	}
	free(all);
	done++;
	return NULL;
}

static void fork_once(void)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		fail("no child");
	if (!child) {
		char *p = malloc(100000);

		memset(p, 1, 100000);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail("a child did not end well");
}

int main(int argc, char **argv)
{
	int i, threads = atoi(argv[1]), forks = atoi(argv[6]);
	pthread_t all[MOST_THREADS];

	if (argc != 7 || threads > MOST_THREADS)
		return 2;
	each = (size_t)atoi(argv[2]) * 1048576 / threads;
	least = atoi(argv[3]);
	most = atoi(argv[4]);
	times = atoi(argv[5]);
	for (i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, work, (void *)(size_t)i);
	while (forks && done < threads) {
		fork_once();
		usleep(50000);
	}
	for (i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("all right\n");
	return 0;
}
