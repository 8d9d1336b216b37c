/* Calls mallopt, malloc_trim and free_[aligned_]sized, found by dlsym: not every libc has them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("line %d: %s\n", __LINE__, #what); \
			return 1; \
		} \
	} while (0)

static int (*mallopt_)(int, int);
static int (*malloc_trim_)(size_t);
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

static int freed(void)
{
	void **block = fill(50000, 2000), **other;
	pthread_t thread;
	size_t i;

	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, (void **)&other);
	for (i = 0; i < 50000; i++)
		free_sized_(block[i], 2000);
	for (i = 0; i < 20000; i++)
		free(other[i]);
	free(other);
	free(block);
	CHECK(malloc_trim_(0) == 1);
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
	CHECK(mallopt_(-6, 0xaa) == 0); /* M_PERTURB */
	CHECK(mallopt_(-99, 1) == 1);
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
	mallopt_ = find("mallopt");
	malloc_trim_ = find("malloc_trim");
	free_sized_ = find("free_sized");
	free_aligned_sized_ = find("free_aligned_sized");
	if (freed() || settings() || blocks())
		return 1;
	puts("ok");
	return 0;
}
