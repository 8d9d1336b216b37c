/* Addresses and results of calls on large private mappings. The output is the same on any
   pages and contains no address.

   anon_calls [confined]
   confined: under a filter that allows only the program's own calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "filter.h"

#define MB ((size_t)1 << 20)
#define PAGE ((size_t)4096)
#define RW (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define SENTINEL 77

/* Allows only the calls below: no madvise, no open. */
static int confined(void)
{
	struct filter filter[] = {
	    {0x20, 0, 0, 0}, ALLOW(write), ALLOW(exit_group), ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), {0x06, 0, 0, 0x80000000},
	};
	struct filters all = {sizeof filter / sizeof *filter, filter};
	char *at;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &all))
		return 1;
	at = mmap(NULL, 33 * MB, RW, PRIVATE, -1, 0);
	if (at == MAP_FAILED)
		return 2;
	memset(at, 1, 33 * MB);
	if (mmap(at + MB, 16 * MB, RW, PRIVATE | MAP_FIXED, -1, 0) != at + MB || at[MB] || !at[0])
		return 3;
	if (mprotect(at, PAGE, PROT_READ) || mprotect(at, PAGE, RW) || munmap(at + PAGE, PAGE))
		return 4;
	return write(1, "confined\n", 9) != 9;
}

static const char *how(int error)
{
	return error == SENTINEL ? "errno kept" : strerror(error);
}

static void *print_at(const char *what, void *at, const char *where)
{
	printf("%s: %s, %s\n", what, at == MAP_FAILED ? "failed" : where, how(errno));
	errno = SENTINEL;
	return at;
}

static void print_result(const char *what, long result)
{
	printf("%s: %ld, %s\n", what, result, how(errno));
	errno = SENTINEL;
}

static const char *same(void *at, void *wanted)
{
	return at == wanted ? "there" : "elsewhere";
}

/* The program chooses the address. */
static void places(void)
{
	char *room = mmap(NULL, 64 * MB, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0), *hint = room + 3 * PAGE, *at;

	errno = SENTINEL;
	at = mmap(hint, 8 * MB, RW, PRIVATE | MAP_FIXED, -1, 0);
	print_at("fixed", at, same(at, hint));
	at = mmap(hint, 8 * MB, RW, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0);
	print_at("fixed where something is", at, same(at, hint));
	at = mmap(hint, 8 * MB, RW, PRIVATE, -1, 0);
	print_at("a hint where something is", at, same(at, hint));
	print_result("munmap", munmap(at, 8 * MB));
	print_result("munmap", munmap(room, 64 * MB));
	at = mmap(hint, 8 * MB, RW, PRIVATE, -1, 0);
	print_at("a hint where nothing is", at, same(at, hint));
	at = mmap(hint + 16 * MB, 8 * MB, RW, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0);
	print_at("fixed where nothing is", at, same(at, hint + 16 * MB));
	print_result("munmap", munmap(hint, 40 * MB));
	at = mmap(hint + 1, 8 * MB, RW, PRIVATE | MAP_FIXED, -1, 0);
	print_at("fixed within a page", at, "somewhere");
#ifdef MAP_32BIT
	at = mmap(NULL, 8 * MB + PAGE, RW, PRIVATE | MAP_32BIT, -1, 0);
	print_at("below 4 GB", at, (uintptr_t)at >> 32 ? "above" : "below");
#endif
	print_at("none", mmap(NULL, 0, RW, PRIVATE, -1, 0), "somewhere");
	print_at("too much", mmap(NULL, (size_t)1 << 60, RW, PRIVATE, -1, 0), "somewhere");
	print_at("an odd offset", mmap(NULL, 8 * MB, RW, PRIVATE, -1, 5), "somewhere");
	print_at("no kind", mmap(NULL, 8 * MB, RW, MAP_ANONYMOUS, -1, 0), "somewhere");
	at = mmap(NULL, 3 * MB, RW, PRIVATE | MAP_GROWSDOWN, -1, 0);
	print_at("a stack", at, "somewhere");
}

/* Returns the number of present pages, or -errno. */
static long present(char *at, size_t len)
{
	static unsigned char pages[1 << 16];
	size_t i;
	long count = 0;

	if (mincore(at, len, pages))
		return -errno;
	for (i = 0; i < len / PAGE; i++)
		count += pages[i] & 1;
	return count;
}

static unsigned long sum(const char *at, size_t len)
{
	unsigned long sum = 0;
	size_t i;

	for (i = 0; i < len; i += 512)
		sum = sum * 31 + (unsigned char)at[i];
	return sum;
}

/* Whether a byte can be written; raises no signal. */
static int writable(char *at)
{
	int ends[2], result;

	if (pipe(ends) || write(ends[1], "", 1) != 1)
		return -1;
	result = read(ends[0], at, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	errno = SENTINEL;
	return result;
}

/* Calls on parts of a mapping. */
static void parts(void)
{
	size_t len = 20 * MB + 3 * PAGE;
	char *at = mmap(NULL, len, RW, PRIVATE, -1, 0), *moved;
	size_t i;

	errno = SENTINEL;
	for (i = 0; i < len; i++)
		at[i] = (char)(i / 4096 + i * 7);
	printf("present %ld\n", present(at, len));
	print_result("drop one page", madvise(at + 5 * PAGE, PAGE, MADV_DONTNEED));
	printf("its neighbours %d %d %d\n", at[5 * PAGE - 1], at[5 * PAGE], at[6 * PAGE]);
	print_result("drop much", madvise(at + MB + PAGE, 7 * MB, MADV_DONTNEED));
	printf("sum %lx\n", sum(at, len));
	print_result("drop at no page", madvise(at + 1, PAGE, MADV_DONTNEED));
	print_result("protect a page", mprotect(at + 9 * MB, PAGE, PROT_NONE));
	printf("access %d%d%d\n", writable(at + 9 * MB - 1), writable(at + 9 * MB), writable(at + 9 * MB + PAGE));
	print_result("free", madvise(at + 10 * MB, 3 * PAGE, MADV_FREE));
	print_result("unmap a page", munmap(at + 12 * MB + PAGE, PAGE));
	printf("present %ld %ld %ld\n", present(at + 12 * MB, PAGE), present(at + 12 * MB + PAGE, PAGE), present(at + 12 * MB + 2 * PAGE, PAGE));
	print_result("drop with a hole", madvise(at + 12 * MB, 3 * PAGE, MADV_DONTNEED));
	print_result("protect with a hole", mprotect(at + 12 * MB, 3 * PAGE, PROT_READ));
	errno = SENTINEL;
	moved = mremap(at + 14 * MB, 6 * MB + 3 * PAGE, 16 * MB, MREMAP_MAYMOVE);
	print_at("grow", moved, "somewhere");
	printf("sum %lx %d\n", sum(moved, 6 * MB), moved[16 * MB - 1]);
	moved = mremap(moved, 16 * MB, PAGE, 0);
	print_at("shrink", moved, "there");
	print_at("grow what is not there", mremap(at + 12 * MB + PAGE, 4 * MB, 8 * MB, MREMAP_MAYMOVE), "somewhere");
	print_at("grow to nothing", mremap(at, MB, 0, MREMAP_MAYMOVE), "somewhere");
	printf("sum %lx\n", sum(moved, PAGE));
}

static void populate(void)
{
	char *at = mmap(NULL, 8 * MB, RW, PRIVATE | MAP_POPULATE, -1, 0);

	errno = SENTINEL;
	printf("populated %ld of %ld\n", present(at, 8 * MB), (long)(8 * MB / PAGE));
	at = mmap(NULL, 8 * MB, PROT_READ, PRIVATE | MAP_POPULATE, -1, 0);
	printf("populated %ld of %ld\n", present(at, 8 * MB), (long)(8 * MB / PAGE));
}

/* A child has a copy. */
static void fork_it(void)
{
	char *at = mmap(NULL, 8 * MB, RW, PRIVATE, -1, 0);
	int status;
	pid_t pid;

	memset(at, 3, 8 * MB);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		memset(at + PAGE, 4, 5 * MB);
		munmap(at + 6 * MB, PAGE);
		at = mmap(NULL, 8 * MB, RW, PRIVATE, -1, 0);
		memset(at, 5, 8 * MB);
		_exit(at[MB] + (int)(sum(at, MB) & 7));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		exit(1);
	printf("the child ends with %d, the parent has %lx\n", status, sum(at, 8 * MB));
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		_exit(confined());
	places();
	parts();
	populate();
	fork_it();
	return 0;
}
