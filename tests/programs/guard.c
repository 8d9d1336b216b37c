/* Protects and drops parts of its heap, and checks that the rest keeps its contents. */
#define _GNU_SOURCE
#include <malloc.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include "check.h"
#include "heap_pages.h"

#define PAGE 4096ul
#define LEN (64ul << 20)

static sigjmp_buf back;

static void on_fault(int signal)
{
	siglongjmp(back, signal);
}

static int fault(volatile char *p)
{
	int got = sigsetjmp(back, 1);

	if (!got)
		*p = *p;
	return got;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_fault};
	void *block;
	char *p;
	size_t i;

	sigaction(SIGSEGV, &action, NULL);
	CHECK(posix_memalign(&block, PAGE, LEN) == 0);
	p = block;
	for (i = 0; i < LEN; i += 8)
		*(uint64_t *)(p + i) = i;
	print_heap_pages("before");
	CHECK(mprotect(p + 10 * PAGE, PAGE, PROT_NONE) == 0);
	CHECK(fault(p + 10 * PAGE) == SIGSEGV && fault(p + 9 * PAGE) == 0 && fault(p + 11 * PAGE) == 0);
	CHECK(mprotect(p + 10 * PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(madvise(p + 2000 * PAGE, 3 * PAGE, MADV_DONTNEED) == 0);
	for (i = 2000 * PAGE; i < 2003 * PAGE; i++)
		CHECK(p[i] == 0);
	CHECK(madvise(p + 1024 * PAGE, 512 * PAGE, MADV_DONTNEED) == 0);
	for (i = 0; i < LEN; i += 8)
		if (!(i >= 2000 * PAGE && i < 2003 * PAGE) && !(i >= 1024 * PAGE && i < 1536 * PAGE))
			CHECK(*(uint64_t *)(p + i) == i);
	for (i = 1024 * PAGE; i < 1536 * PAGE; i += 8)
		CHECK(*(uint64_t *)(p + i) == 0);
	print_heap_pages("after");
	free(p);
	puts("ok");
	return 0;
}
