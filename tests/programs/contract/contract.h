/* What the programs of the contract share: how they end, a heap that lies on
   huge pages, children that are waited for, threads. A program prints `right`
   and ends with 0, or says what is wrong and ends with 1. Include it first. */
#ifndef CONTRACT_H
#define CONTRACT_H
#define _GNU_SOURCE
#include <dlfcn.h>
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
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include "../judge.h"

#define MIB ((size_t)1 << 20)
#define UNUSED __attribute__((unused))

/* Says what is wrong, in one write, and ends the process with all threads. */
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

__attribute__((unused, noreturn)) static void right(void)
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

static UNUSED void *get_aligned(size_t alignment, size_t size)
{
	void *block = NULL;

	CHECK(!posix_memalign(&block, alignment, size));
	return block;
}

/* Whoever runs the program says so where its heap must reach the pool: else a
   test of what happens there would be none. */
static UNUSED void check_on_pool(void)
{
	if (getenv("CONTRACT_ON_POOL"))
		CHECK(judge().hugetlb > 0);
}

/* A heap of so many blocks of 1 MiB, block i full of the byte i. */
static unsigned char **heap_blocks;
static size_t heap_count;

static UNUSED void fill_heap(size_t mib)
{
	heap_blocks = get(mib * sizeof *heap_blocks);
	for (heap_count = 0; heap_count < mib; heap_count++) {
		heap_blocks[heap_count] = get(MIB);
		memset(heap_blocks[heap_count], (int)heap_count, MIB);
	}
	if (mib >= 40)
		check_on_pool();
}

static UNUSED void check_heap(const char *who)
{
	size_t i, k;

	for (i = 0; i < heap_count; i++)
		for (k = 0; k < MIB; k += 512)
			if (heap_blocks[i][k] != (unsigned char)i)
				fail("%s: byte %zu of block %zu is %d", who, k, i, heap_blocks[i][k]);
}

/* Reserves what the pool has left; run plainly, where it is nobody's concern, not. */
static UNUSED void empty_pool(void)
{
	int i, flags = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB;

	if (!getenv("CONTRACT_WITH_US"))
		return;
	for (i = 0; i < 1000; i++)
		if (mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
			return;
}

/* Writes to every page of the heap what is there. */
static UNUSED void write_heap(void)
{
	size_t i, k;

	for (i = 0; i < heap_count; i++)
		for (k = 0; k < MIB; k += 4096)
			*(volatile unsigned char *)(heap_blocks[i] + k) = (unsigned char)i;
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

/* How long that goes on which only time tells the end of: so many seconds, half a one in
   a short test. */
static UNUSED double span(double most)
{
	return getenv("CONTRACT_SHORT") && most > 0.5 ? 0.5 : most;
}

#ifdef __GLIBC__
/* libc's own makecontext, whatever stands before it: for a coroutine that nobody is told
   of, as those are that a program makes in assembly. */
typedef void makes_context(ucontext_t *, void (*)(void), int, ...);

static UNUSED makes_context *untold_makecontext(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *address = libc ? dlsym(libc, "makecontext") : NULL;
	makes_context *function;

	CHECK(address);
	memcpy(&function, &address, sizeof function);
	return function;
}

/* The size of the pages behind an address, in kB. */
static UNUSED unsigned long page_of(const void *address)
{
	unsigned long start, end, size = 0, at = (unsigned long)address;
	char line[512], mode[8];
	int is_there = 0;
	FILE *file = fopen("/proc/self/smaps", "r");

	CHECK(file);
	while (fgets(line, sizeof line, file)) {
		if (sscanf(line, "%lx-%lx %7s ", &start, &end, mode) == 3)
			is_there = start <= at && at < end;
		else if (is_there && sscanf(line, "KernelPageSize: %lu kB", &size) == 1)
			break;
	}
	fclose(file);
	return size;
}
#endif

static UNUSED int number(int argc, char **argv, int which, int otherwise)
{
	return argc > which ? atoi(argv[which]) : otherwise;
}

#endif
