/* What the functions of malloc's family answer at their edges, printed, to be
   compared with a plain run. What a libc may choose is not printed. */
#include "contract.h"
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* A compiler that sees it would say so. */
static volatile size_t most = SIZE_MAX;

static void say(const char *what, void *block, size_t alignment)
{
	printf("%-32s %s errno %d %s\n", what, block ? "a block" : "NULL", errno,
	       (uintptr_t)block % alignment ? "NOT ALIGNED" : "aligned");
	if (block && alignment <= 4096)
		memset(block, 1, 1);
	errno = 0;
	free(block);
	errno = 0;
}

static void posix(const char *what, size_t alignment, size_t size)
{
	void *block = NULL;
	int result = posix_memalign(&block, alignment, size);

	/* Where there is no memory, glibc and musl say so in errno, too. */
	printf("%-32s %d, errno %d\n", what, result, result == ENOMEM ? errno : 0);
	if (!result)
		say(what, block, alignment);
	errno = 0;
}

/* Calls that succeed leave errno as it was. */
static void keep_errno(void)
{
	size_t size;
	void *block, *other = NULL;
	int round;

	for (round = 0; round < 2; round++)
		for (size = 1; size < 200u << 20; size = size * 3 / 2 + 7) {
			errno = 4242;
			CHECK((block = malloc(size)) && errno == 4242);
			CHECK((block = realloc(block, size * 2)) && errno == 4242);
			free(block);
			CHECK(errno == 4242);
			CHECK((block = calloc(size, 1)) && errno == 4242);
			free(block);
			CHECK((block = realloc(NULL, size)) && errno == 4242);
			free(block);
			CHECK(!posix_memalign(&other, 4096, size) && errno == 4242);
			free(other);
			CHECK((block = aligned_alloc(64, size)) && errno == 4242);
			free(block);
			CHECK(errno == 4242);
		}
}

static void limit_address_space(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
	limit.rlim_cur = (rlim_t)3 << 29;
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

int main(void)
{
	size_t size;
	void *block;

	setvbuf(stdout, NULL, _IONBF, 0);
	errno = 0;
	say("aligned_alloc(0, 100)", aligned_alloc(0, 100), 16);
	say("aligned_alloc(24, 96)", aligned_alloc(24, 96), 8);
	say("aligned_alloc(1, 10)", aligned_alloc(1, 10), 16);
	say("aligned_alloc(4096, 5)", aligned_alloc(4096, 5), 4096);
	say("aligned_alloc(1 TiB, 10)", aligned_alloc((size_t)1 << 40, 10), 16);
	say("memalign(48, 100)", memalign(48, 100), 16);
	say("memalign(0, 100)", memalign(0, 100), 16);
	posix("posix_memalign(24, 100)", 24, 100);
	posix("posix_memalign(4, 100)", 4, 100);
	posix("posix_memalign(64, 0)", 64, 0);
	posix("posix_memalign(1 GiB, 4096)", (size_t)1 << 30, 4096);
	say("malloc(0)", malloc(0), 16);
	say("malloc(PTRDIFF_MAX)", malloc(PTRDIFF_MAX), 16);
	say("malloc(SIZE_MAX)", malloc(most), 16);
	say("malloc(1 TiB)", malloc((size_t)1 << 40), 16);
	say("malloc(48 GiB)", malloc((size_t)48 << 30), 16);
	say("calloc(48 GiB, 1)", calloc((size_t)48 << 30, 1), 16);
	say("calloc(SIZE_MAX / 2, 3)", calloc(most / 2, 3), 16);
	say("realloc(NULL, 48 GiB)", realloc(NULL, (size_t)48 << 30), 16);
	say("aligned_alloc(64, 48 GiB)", aligned_alloc(64, (size_t)48 << 30), 16);
	say("reallocarray of too much", reallocarray(NULL, most / 2, 3), 16);
	block = malloc(10);
	say("realloc(block, 0)", realloc(block, 0), 16);
	block = malloc(10);
	CHECK(!realloc(block, PTRDIFF_MAX));
	say("realloc(block, PTRDIFF_MAX)", block, 16);
	say("realloc(NULL, 0)", realloc(NULL, 0), 16);
	for (size = 1; size < 200; size++) {
		void *some[4];
		int i;

		for (i = 0; i < 4; i++) {
			some[i] = malloc(size);
			if ((uintptr_t)some[i] % _Alignof(max_align_t))
				fail("a block of %zu bytes is not aligned for max_align_t", size);
			if (malloc_usable_size(some[i]) < size)
				fail("a block of %zu bytes has less", size);
		}
		for (i = 0; i < 4; i++)
			free(some[i]);
	}
	block = memalign(1 << 20, 100);
	block = realloc(block, 5000000);
	say("realloc of a block of memalign", block, 16);
	keep_errno();
	limit_address_space();
	posix("posix_memalign(1 GiB, 4096) in 1.5 GiB", (size_t)1 << 30, 4096);
	posix("posix_memalign(1 GiB, 10 MB) in 1.5 GiB", (size_t)1 << 30, 10000000);
	return 0;
}
