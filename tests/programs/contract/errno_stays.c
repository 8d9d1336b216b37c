/* A program whose data is limited takes and frees blocks of many sizes until some are
   refused: a call that succeeds leaves errno alone, one that is refused says ENOMEM. Later
   ones may succeed at mimalloc's second try, which errno tells. */
#include "contract.h"
#include <malloc.h>
#include <sys/resource.h>

#define BLOCKS 4000
#define STEPS 20000
#define UNTOUCHED 7777

static void *block[BLOCKS];

static size_t some_size(unsigned number)
{
	switch (number % 8) {
	case 0:
		return (size_t)(1 + number / 8) << 16;
	case 1:
		return (size_t)(1 + number / 8 % 64) << 18;
	default:
		return 1 + number * 37 % 9000;
	}
}

static void *take(unsigned number, void *old, size_t size)
{
	switch (number / 64 % 4) {
	case 0:
		return realloc(old, size);
	case 1:
		free(old);
		return calloc(1, size);
	case 2:
		free(old);
		return memalign((size_t)1 << (4 + number % 20), size);
	default:
		free(old);
		return malloc(size);
	}
}

int main(void)
{
	struct rlimit limit = { 100 * MIB, 100 * MIB };
	unsigned seed = 7, refused = 0;
	long step;

	CHECK(!setrlimit(RLIMIT_DATA, &limit));
	for (step = 0; step < STEPS; step++) {
		void **place, *got;

		seed = seed * 1103515245 + 12345;
		place = &block[(seed >> 8) % BLOCKS];
		errno = UNTOUCHED;
		if (seed >> 28 < 6) {
			free(*place);
			*place = NULL;
			CHECK(errno == UNTOUCHED);
			continue;
		}
		got = take(seed >> 20, *place, some_size(seed >> 20));
		CHECK(got ? refused || errno == UNTOUCHED : errno == ENOMEM);
		refused += !got;
		if (got || (seed >> 20) / 64 % 4)
			*place = got;
	}
	CHECK(refused > 0);
	right();
}
