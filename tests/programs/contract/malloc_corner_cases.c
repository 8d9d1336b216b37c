/* Prints what malloc's family returns in corner cases, for a comparison with a plain run.
   Results that a libc may choose are not printed. */
#include "contract.h"
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

/* Volatile: compilers warn about constants of this size. */
static volatile size_t size_max = SIZE_MAX;

static void print_block(const char *what, void *block, size_t alignment)
{
	printf("%-32s %s errno %d %s\n", what, block ? "a block" : "NULL", errno,
	       (uintptr_t)block % alignment ? "NOT ALIGNED" : "aligned");
	if (block && alignment <= 4096)
		memset(block, 1, 1);
	errno = 0;
	free(block);
	errno = 0;
}

static void print_posix_memalign(const char *what, size_t alignment, size_t size)
{
	void *block = NULL;
	int result = posix_memalign(&block, alignment, size);

	/* With ENOMEM, glibc and musl also set errno. */
	printf("%-32s %d, errno %d\n", what, result, result == ENOMEM ? errno : 0);
	if (!result)
		print_block(what, block, alignment);
	errno = 0;
}

/* Calls that succeed keep errno. */
static void check_errno_kept(void)
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

int main(void)
{
	size_t size;
	void *block;

	setvbuf(stdout, NULL, _IONBF, 0);
	errno = 0;
	print_block("aligned_alloc(1, 10)", aligned_alloc(1, 10), 16);
	print_block("aligned_alloc(4096, 5)", aligned_alloc(4096, 5), 4096);
	print_block("memalign(48, 100)", memalign(48, 100), 16);
	print_block("memalign(0, 100)", memalign(0, 100), 16);
	print_posix_memalign("posix_memalign(24, 100)", 24, 100);
	print_posix_memalign("posix_memalign(4, 100)", 4, 100);
	print_posix_memalign("posix_memalign(64, 0)", 64, 0);
	print_posix_memalign("posix_memalign(1 GiB, 4096)", (size_t)1 << 30, 4096);
	print_block("malloc(0)", malloc(0), 8);
	print_block("malloc(PTRDIFF_MAX)", malloc(PTRDIFF_MAX), 16);
	print_block("malloc(SIZE_MAX)", malloc(size_max), 16);
	print_block("calloc(SIZE_MAX / 2, 3)", calloc(size_max / 2, 3), 16);
	print_block("reallocarray of too much", reallocarray(NULL, size_max / 2, 3), 16);
	block = malloc(10);
	CHECK(!realloc(block, PTRDIFF_MAX));
	print_block("realloc(block, PTRDIFF_MAX)", block, 16);
	print_block("realloc(NULL, 0)", realloc(NULL, 0), 8);
	for (size = 1; size < 200; size++) {
		void *some[4];
		int i;

		for (i = 0; i < 4; i++) {
			some[i] = malloc(size);
			/* Blocks of up to 8 bytes need only an alignment of 8. */
			if ((uintptr_t)some[i] % (size > 8 ? _Alignof(max_align_t) : 8))
				fail("a block of %zu bytes is not aligned", size);
			if (malloc_usable_size(some[i]) < size)
				fail("a block of %zu bytes has less", size);
		}
		for (i = 0; i < 4; i++)
			free(some[i]);
	}
	block = memalign(1 << 20, 100);
	block = realloc(block, 5000000);
	print_block("realloc of a block of memalign", block, 16);
	check_errno_kept();
	return 0;
}
