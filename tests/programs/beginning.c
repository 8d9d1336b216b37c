/* A heap grows past its small beginning while everybody writes to that: threads
   by stores and by read(2), and another process by process_vm_writev(2). What
   each has written last must be there at the end.

   beginning THREADS */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "judge.h"

#define BLOCKS 13000
#define BYTES 1000
#define LARGE 128
#define LARGE_BYTES ((size_t)512 << 10)

struct block {
	uint64_t stored, read, written;
	char rest[BYTES - 3 * sizeof(uint64_t)];
};

/* What must be there; shared with the other process. */
static struct expected {
	_Atomic int stop, refused;
	uint64_t stored[BLOCKS], read[BLOCKS], written[BLOCKS];
} *expected;

static struct block *block[BLOCKS];
static int threads;

static void fail(const char *what, size_t i)
{
	fprintf(stderr, "%s: block %zu: %s\n", what, i, strerror(errno));
	_exit(4);
}

/* Writes to a part of the blocks, in all ways that a thread has. */
static void *write_some(void *part)
{
	uint64_t value = 0;
	int pipes[2];

	if (pipe(pipes))
		fail("pipe", 0);
	while (!expected->stop)
		for (size_t i = (size_t)part; i < BLOCKS; i += threads) {
			value++;
			block[i]->stored += value;
			expected->stored[i] += value;
			if (write(pipes[1], &value, 8) != 8 || read(pipes[0], &block[i]->read, 8) != 8)
				fail("read", i);
			expected->read[i] = value;
		}
	return NULL;
}

/* The other process. */
static void write_from_outside(pid_t parent)
{
	uint64_t value = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!expected->stop)
		for (size_t i = 0; i < BLOCKS; i++) {
			struct iovec here = {&value, 8}, there = {&block[i]->written, 8};

			value++;
			if (process_vm_writev(parent, &here, 1, &there, 1, 0) != 8) {
				if (errno != EPERM)
					fail("process_vm_writev", i);
				expected->refused = 1;
				_exit(0);
			}
			expected->written[i] = value;
		}
	_exit(0);
}

static void grow(void)
{
	for (int i = 0; i < LARGE; i++) {
		char *more = malloc(LARGE_BYTES);

		if (!more)
			fail("malloc", i);
		memset(more, i, LARGE_BYTES);
		usleep(1000);
	}
}

static void check(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		if (block[i]->stored != expected->stored[i])
			fail("stored", i);
		if (block[i]->read != expected->read[i])
			fail("read", i);
		if (block[i]->written != expected->written[i])
			fail("written", i);
		for (size_t k = 0; k < sizeof block[i]->rest; k++)
			if (block[i]->rest[k] != (char)(i + k))
				fail("rest", i);
	}
}

static void print_page_tables(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "VmPTE:", 6))
			printf("page_tables_kb=%lu\n", strtoul(line + 6, NULL, 10));
	fclose(f);
}

int main(int argc, char **argv)
{
	pthread_t thread[64];
	pid_t parent = getpid(), other;

	threads = argc > 1 ? atoi(argv[1]) : 0;
	expected = mmap(NULL, sizeof *expected, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < BLOCKS; i++) {
		if (expected == MAP_FAILED || !(block[i] = calloc(1, sizeof **block)))
			fail("calloc", i);
		for (size_t k = 0; k < sizeof block[i]->rest; k++)
			block[i]->rest[k] = (char)(i + k);
	}
	print_judged("before");
	other = fork();
	if (other == 0)
		write_from_outside(parent);
	for (size_t t = 0; t < (size_t)threads; t++)
		if (pthread_create(&thread[t], NULL, write_some, (void *)t))
			fail("pthread_create", t);
	grow();
	expected->stop = 1;
	for (int t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	waitpid(other, NULL, 0);
	check();
	print_judged("after");
	print_page_tables();
	printf("written from outside: %s\n", expected->refused ? "refused" : "yes");
	return 0;
}
