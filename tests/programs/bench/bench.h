/* Shared by the benchmark's programs: the size argument, a clock, a random number generator,
   and checks that exit on failure. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 88172645463325252u;

/* xorshift64* */
static inline uint64_t next_of(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 2685821657736338717u;
}

static inline uint64_t next_number(void)
{
	return next_of(&state);
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

static inline void damaged(const char *what, size_t where)
{
	fprintf(stderr, "%s %zu is damaged\n", what, where);
	exit(4);
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
