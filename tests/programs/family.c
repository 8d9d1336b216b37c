/* What a program may ask of its malloc besides memory: each answer is held
   against what the program itself has taken. The functions are looked up, since
   not every libc has them.

   family */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct info {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks,
		uordblks, fordblks, keepcost;
};

struct small_info {
	int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks,
		uordblks, fordblks, keepcost;
};

#define MIB (1ul << 20)
#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("line %d: %s\n", __LINE__, #what); \
			return 1; \
		} \
	} while (0)

static struct info (*mallinfo2_)(void);
static struct small_info (*mallinfo_)(void);
static int (*mallopt_)(int, int);
static int (*malloc_trim_)(size_t);
static void (*malloc_stats_)(void);
static int (*malloc_info_)(int, FILE *);
static void (*free_sized_)(void *, size_t);
static void (*free_aligned_sized_)(void *, size_t, size_t);

static void *find(const char *name)
{
	void *f = dlsym(RTLD_DEFAULT, name);

	if (!f) {
		printf("no %s\n", name);
		exit(1);
	}
	return f;
}

static int near(size_t value, size_t want)
{
	return value >= want - want / 20 && value <= want + want / 4;
}

static void **fill(size_t n, size_t size)
{
	void **block = malloc(n * sizeof *block);
	size_t i;

	for (i = 0; i < n; i++)
		block[i] = memset(malloc(size), 1, size);
	return block;
}

static void *in_thread(void *unused)
{
	(void)unused;
	return fill(20000, 1000);
}

static int figures(void)
{
	struct info start = mallinfo2_(), full, empty;
	struct small_info small;
	void **block = fill(50000, 2000), **other;
	char *large = malloc(3000 * MIB);
	pthread_t thread;
	size_t i;

	CHECK(large != NULL);
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, (void **)&other);
	full = mallinfo2_();
	CHECK(near(full.uordblks - start.uordblks, 120000000));
	CHECK(full.arena == full.uordblks + full.fordblks);
	CHECK(full.hblks == start.hblks + 1);
	CHECK(near(full.hblkhd - start.hblkhd, 3000 * MIB));
	small = mallinfo_();
	CHECK(near(small.uordblks, full.uordblks));
	CHECK(small.hblkhd == INT32_MAX);
	for (i = 0; i < 50000; i++)
		free_sized_(block[i], 2000);
	for (i = 0; i < 20000; i++)
		free(other[i]);
	free(other);
	free(block);
	free(large);
	CHECK(malloc_trim_(0) == 1);
	empty = mallinfo2_();
	CHECK(empty.uordblks < start.uordblks + MIB);
	CHECK(empty.hblks == start.hblks && empty.hblkhd == start.hblkhd);
	CHECK(empty.arena < full.arena / 4);
	CHECK(malloc_trim_(0) == 0);
	return 0;
}

static int settings(void)
{
	CHECK(mallopt_(-3, 1 << 20) == 1); /* M_MMAP_THRESHOLD */
	CHECK(mallopt_(-3, 1 << 30) == 1);
	CHECK(mallopt_(-8, 4) == 1); /* M_ARENA_MAX */
	CHECK(mallopt_(-1, 64 << 20) == 1); /* M_TRIM_THRESHOLD */
	CHECK(mallopt_(-2, 0) == 1); /* M_TOP_PAD */
	CHECK(mallopt_(1, 64) == 1); /* M_MXFAST */
	CHECK(mallopt_(1, 100000) == 0);
	CHECK(mallopt_(-6, 0xaa) == 0); /* M_PERTURB */
	CHECK(mallopt_(-99, 1) == 1);
	return 0;
}

static int texts(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	CHECK(malloc_info_(1, stream) == EINVAL);
	CHECK(malloc_info_(0, stream) == 0);
	fclose(stream);
	fputs(text, stdout);
	free(text);
	malloc_stats_();
	return 0;
}

static int blocks(void)
{
	void *block;

	free_sized_(malloc(100), 100);
	free_sized_(NULL, 0);
	block = aligned_alloc(4096, 8192);
	CHECK((uintptr_t)block % 4096 == 0);
	free_aligned_sized_(block, 4096, 8192);
	errno = 7;
	CHECK(malloc_trim_(0) <= 1 && errno == 7);
	return 0;
}

int main(void)
{
	mallinfo2_ = find("mallinfo2");
	mallinfo_ = find("mallinfo");
	mallopt_ = find("mallopt");
	malloc_trim_ = find("malloc_trim");
	malloc_stats_ = find("malloc_stats");
	malloc_info_ = find("malloc_info");
	free_sized_ = find("free_sized");
	free_aligned_sized_ = find("free_aligned_sized");
	if (figures() || settings() || blocks() || texts())
		return 1;
	puts("ok");
	return 0;
}
