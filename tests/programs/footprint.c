/* Takes blocks of one size, writes every page of them, and prints how much
   memory the process has for each thousand bytes that it asked for: what it has
   more than before its first block, hugetlb pages included.

   footprint blocks SIZE MiB
   footprint shifted SIZE COUNT
   footprint rested SIZE COUNT
   footprint aligned SIZE COUNT: COUNT blocks at multiples of 2 MiB
   footprint threads SIZE COUNT: COUNT blocks of each of sixteen sizes between
      SIZE and twice SIZE in each of four threads
   footprint once SIZE COUNT: a block of each of COUNT sizes, each a quarter of SIZE larger
      than the one before, taken and freed in each of four threads, and one of SIZE
   footprint replaced SIZE COUNT: COUNT blocks of any size up to SIZE, replaced by
      others 200 times within some seconds

   `shifted` takes COUNT blocks, frees every second one, and takes as many again
   that are 100,000 bytes larger; `rested` waits before these for longer than an
   allocator keeps what is free. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#define THREADS 4
#define SIZES 16

static size_t asked;

/* Memory of this process that is no file's, and hugetlb pages, in kB. Which pages of a
   library are mapped depends on what of it is in the page cache. Allocates nothing. */
static size_t taken(void)
{
	static char text[1 << 16];
	size_t sum = 0, len = 0;
	ssize_t got;
	char *at;
	int file = open("/proc/self/smaps_rollup", O_RDONLY);

	if (file < 0)
		abort();
	while (len < sizeof text - 1 && (got = read(file, text + len, sizeof text - 1 - len)) > 0)
		len += (size_t)got;
	close(file);
	text[len] = 0;
	static const char *const names[] = {"\nAnonymous:", "\nPrivate_Hugetlb:", "\nShared_Hugetlb:"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if ((at = strstr(text, names[i])))
			sum += strtoul(strchr(at, ':') + 1, NULL, 10);
	return sum;
}

/* What blocks are aligned to, or 0 where nothing is asked for. */
static size_t alignment;

static void *filled(size_t size)
{
	void *block = NULL;

	if (!alignment)
		block = malloc(size);
	else if (posix_memalign(&block, alignment, size))
		block = NULL;
	if (!block) {
		perror("footprint");
		exit(3);
	}
	memset(block, 1, size);
	__atomic_add_fetch(&asked, size, __ATOMIC_RELAXED);
	return block;
}

static void drop(void *block, size_t size)
{
	free(block);
	asked -= size;
}

static void blocks(size_t size, size_t count)
{
	for (size_t i = 0; i < count; i++)
		filled(size);
}

static void shifted(size_t size, size_t count, void **block, unsigned pause)
{
	size_t i;

	for (i = 0; i < count; i++)
		block[i] = filled(size);
	for (i = 0; i < count; i += 2)
		drop(block[i], size);
	usleep(pause);
	for (i = 0; i < count; i += 2)
		block[i] = filled(size + 100000);
}

/* Address space of this process, in kB. */
static size_t space(void)
{
	static char text[256];
	int file = open("/proc/self/statm", O_RDONLY);

	if (file < 0 || read(file, text, sizeof text - 1) < 1)
		abort();
	close(file);
	return strtoul(text, NULL, 10) * (size_t)(sysconf(_SC_PAGESIZE) >> 10);
}

static void replaced(size_t size, size_t count, void **block)
{
	static size_t sizes[1000];
	uint64_t random = 88172645463325252u;

	for (size_t i = 0; i < 200 * count; i++) {
		size_t which;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		which = i < count ? i : random % count;
		if (block[which])
			drop(block[which], sizes[which]);
		sizes[which] = 1 + (random >> 20) % size;
		block[which] = filled(sizes[which]);
		/* As long on any machine: what is free goes back by the clock. */
		if (i % count == 0)
			usleep(10000);
	}
}

static pthread_barrier_t all;
static size_t least, each;

static void *work(void *arg)
{
	for (size_t i = 0; i < SIZES; i++)
		for (size_t k = 0; k < each; k++)
			filled(least + least / SIZES * i);
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return arg;
}

static void *use_once(void *arg)
{
	for (size_t i = 0; i < each; i++) {
		const size_t size = least + least / 4 * i;
		char *const block = malloc(size);

		if (!block)
			exit(3);
		memset(block, 1, size);
		free(block);
	}
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return arg;
}

/* What others do, and what this thread sees then. */
static int in_threads(void *(*task)(void *), size_t size, size_t number)
{
	pthread_t thread[THREADS];

	least = size, each = number;
	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, task, NULL))
			return 3;
	pthread_barrier_wait(&all);
	/* The others wait for this thread to look. */
	return 0;
}

int main(int argc, char **argv)
{
	static void *block[1000];
	size_t before, room, size, number;

	if (argc != 4)
		return 2;
	size = strtoul(argv[2], NULL, 0);
	number = strtoul(argv[3], NULL, 0);
	before = taken();
	room = space();
	if (!strcmp(argv[1], "blocks"))
		blocks(size, (number << 20) / size);
	else if (!strcmp(argv[1], "aligned")) {
		alignment = 2 << 20;
		blocks(size, number);
	} else if (!strcmp(argv[1], "shifted") && number <= sizeof block / sizeof *block)
		shifted(size, number, block, 0);
	else if (!strcmp(argv[1], "rested") && number <= sizeof block / sizeof *block)
		shifted(size, number, block, 1500000);
	else if (!strcmp(argv[1], "replaced") && number <= sizeof block / sizeof *block)
		replaced(size, number, block);
	else if (!strcmp(argv[1], "threads")) {
		if (in_threads(work, size, number))
			return 3;
	} else if (!strcmp(argv[1], "once")) {
		if (in_threads(use_once, size, number))
			return 3;
		usleep(1500000);
		filled(size);
	} else
		return 2;
	number = taken() - before;
	printf("%s thousandths=%zu asked_kb=%zu taken_kb=%zu space_kb=%zu\n", argv[1], number * 1024 / (asked / 1000),
	       asked >> 10, number, space() - room);
	return 0;
}
