/* A heap, a fork, and both sides write all of it; every byte is checked. With
   -DSTATIC it is no heap, but data and bss of the program.

   fork parent|child [MiB] [times] [threads]
   parent: the parent writes first; child: the child does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include "judge.h"

#define BLOCK ((size_t)1 << 20)
static size_t blocks;
static uint64_t **block;
#ifdef STATIC
#define MOST 200
static uint64_t data[20 * BLOCK / 8] = {1}, bss[(MOST - 20) * BLOCK / 8];
static volatile long counter[64][BLOCK / 4];
#endif
static _Atomic int stop;
static _Atomic long counted;

static void write_all(uint64_t seed)
{
	size_t i, k;

	for (i = 0; i < blocks; i++)
		for (k = 0; k < BLOCK / 8; k++)
			block[i][k] = seed + i * 1000003 + k;
}

static void check_all(uint64_t seed, const char *who)
{
	size_t i, k;

	for (i = 0; i < blocks; i++)
		for (k = 0; k < BLOCK / 8; k++)
			if (block[i][k] != seed + i * 1000003 + k) {
				fprintf(stderr, "%s: block %zu, word %zu is damaged\n", who, i, k);
				_exit(4);
			}
}

/* Counts in a block of its own, so that a lost store is seen. */
static void *count(void *arg)
{
#ifdef STATIC
	volatile long *own = counter[(uintptr_t)arg];
#else
	volatile long *own = malloc(2 << 20);
#endif
	long n = 0;

	(void)arg;
	own[0] = own[100000] = 0;
	while (!stop) {
		n++;
		own[0]++;
		own[100000]++;
	}
	if (own[0] != n || own[100000] != n) {
		fprintf(stderr, "a thread lost a store: %ld %ld of %ld\n", own[0], own[100000], n);
		_exit(5);
	}
	counted += n;
	return NULL;
}

static void one_fork(int parent_first, uint64_t seed)
{
	int to_child[2], to_parent[2], status;
	char c = 0;
	pid_t pid;

	write_all(seed);
	if (pipe(to_child) || pipe(to_parent))
		exit(3);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(3);
	}
	if (pid == 0) {
		if (parent_first && read(to_child[0], &c, 1) != 1)
			_exit(6);
		check_all(seed, "child");
		write_all(seed + 1);
		check_all(seed + 1, "child");
		if (!parent_first && write(to_parent[1], &c, 1) != 1)
			_exit(6);
		_exit(0);
	}
	if (!parent_first && read(to_parent[0], &c, 1) != 1) {
		fprintf(stderr, "the child said nothing\n");
		exit(6);
	}
	check_all(seed, "parent");
	write_all(seed + 2);
	check_all(seed + 2, "parent");
	if (parent_first && write(to_child[1], &c, 1) != 1)
		exit(6);
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "the child ended with status %#x\n", status);
		exit(7);
	}
	close(to_child[0]), close(to_child[1]), close(to_parent[0]), close(to_parent[1]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "parent";
	int parent_first = !!strstr(mode, "parent");
	size_t mib = argc > 2 ? (size_t)atol(argv[2]) : 200;
	int times = argc > 3 ? atoi(argv[3]) : 1, threads = argc > 4 ? atoi(argv[4]) : 0, i;
	pthread_t thread[64];
	size_t k;

	blocks = (mib << 20) / BLOCK;
#ifdef STATIC
	if (blocks > MOST)
		return 2;
#endif
	block = malloc(blocks * sizeof *block);
	for (k = 0; k < blocks; k++) {
#ifdef STATIC
		block[k] = k < 20 ? data + k * BLOCK / 8 : bss + (k - 20) * BLOCK / 8;
#else
		block[k] = malloc(BLOCK);
#endif
	}
	write_all(0);
	print_judged("before");
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, count, (void *)(uintptr_t)i);
	for (i = 0; i < times; i++)
		one_fork(parent_first, (uint64_t)i * 7);
	stop = 1;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	print_judged("after");
	return 0;
}
