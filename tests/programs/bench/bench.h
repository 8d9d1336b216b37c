/* Shared by the benchmark's programs: the size argument, a clock, a random number generator,
   and checks that exit on failure. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252u;

/* xorshift64* */
static inline uint64_t next_number(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717u;
}

/* Uniform in [0, n). */
static inline uint64_t below(uint64_t n)
{
	return (uint64_t)((unsigned __int128)next_number() * n >> 64);
}

static inline void *need(void *p)
{
	if (!p) {
		perror("malloc");
		exit(3);
	}
	return p;
}

/* Converts the first argument from MiB to bytes. */
static inline size_t bytes_of(int argc, char **argv)
{
	if (argc < 2 || atol(argv[1]) <= 0) {
		fprintf(stderr, "usage: %s MIB\n", argv[0]);
		exit(2);
	}
	return (size_t)atol(argv[1]) << 20;
}

/* Seconds. */
static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
