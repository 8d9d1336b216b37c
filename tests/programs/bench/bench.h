/* Shared by the benchmark's programs: the size argument, a clock, a random number generator, and
   allocations that exit on failure. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t random_state = 88172645463325252u;

/* xorshift64* */
static inline uint64_t next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 2685821657736338717u;
}

/* Uniform in [0, n). */
static inline uint64_t random_below(uint64_t n)
{
	return (uint64_t)((unsigned __int128)next_random() * n >> 64);
}

static inline void *check_alloc(void *p)
{
	if (!p) {
		perror("malloc");
		exit(3);
	}
	return p;
}

/* Converts the first argument from MiB to bytes. */
static inline size_t size_argument(int argc, char **argv)
{
	if (argc < 2 || atol(argv[1]) <= 0) {
		fprintf(stderr, "usage: %s MIB\n", argv[0]);
		exit(2);
	}
	return (size_t)atol(argv[1]) << 20;
}

static inline double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
