/* Shared by the programs of the contract: checks, a heap on huge pages, children, threads.
   A program prints `right` and exits with 0, or prints what is wrong and exits with 1.
   Include it first. */
#ifndef CONTRACT_H
#define CONTRACT_H
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../heap_pages.h"

#define MIB ((size_t)1 << 20)
#define UNUSED __attribute__((unused))

/* Prints what is wrong in one write and ends the process. */
__attribute__((unused, noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
	char text[512] = "wrong: ";
	size_t used = strlen(text);
	va_list list;

	va_start(list, format);
	used += (size_t)vsnprintf(text + used, sizeof text - used - 1, format, list);
	va_end(list);
	if (used > sizeof text - 2)
		used = sizeof text - 2;
	text[used++] = '\n';
	if (write(1, text, used) < 0)
		_exit(2);
	_exit(1);
}

#define CHECK(what) ((what) ? (void)0 : fail("%s:%d: %s (errno %d)", __FILE__, __LINE__, #what, errno))

__attribute__((unused, noreturn)) static void pass(void)
{
	CHECK(write(1, "right\n", 6) == 6);
	_exit(0);
}

static UNUSED void *get(size_t size)
{
	void *block = malloc(size);

	CHECK(block);
	return block;
}

/* A heap of blocks of 1 MiB; block i is filled with byte i. */
static unsigned char **heap_blocks;
static size_t heap_count;

static UNUSED void fill_heap(size_t mib)
{
	heap_blocks = get(mib * sizeof *heap_blocks);
	for (heap_count = 0; heap_count < mib; heap_count++) {
		heap_blocks[heap_count] = get(MIB);
		memset(heap_blocks[heap_count], (int)heap_count, MIB);
	}
	/* Without pool pages, the test proves nothing. */
	if (mib >= 40 && getenv("CONTRACT_ON_POOL"))
		CHECK(read_heap_pages().hugetlb > 0);
}

static UNUSED void check_heap(const char *who)
{
	size_t i, k;

	for (i = 0; i < heap_count; i++)
		for (k = 0; k < MIB; k += 512)
			if (heap_blocks[i][k] != (unsigned char)i)
				fail("%s: byte %zu of block %zu is %d", who, k, i, heap_blocks[i][k]);
}

static UNUSED void wait_for(pid_t child, const char *what)
{
	int status = 0;

	CHECK(child > 0);
	while (waitpid(child, &status, 0) < 0)
		CHECK(errno == EINTR);
	if (status)
		fail("%s: the child's status is %#x", what, (unsigned)status);
}

static UNUSED pthread_t start(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, function, argument));
	return thread;
}

static UNUSED double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static UNUSED int number(int argc, char **argv, int which, int otherwise)
{
	return argc > which ? atoi(argv[which]) : otherwise;
}

#endif
