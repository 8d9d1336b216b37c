/* A coroutine on a stack from malloc forks, in a process with threads. Afterwards its
   stack is ordinary memory: the kernel writes the frames of signals there by itself, and
   could not wait for a page of a pool that a child shares. */
#include "contract.h"

#ifdef __GLIBC__
#include <ucontext.h>

#define SIZE ((size_t)64 << 10)

static ucontext_t outer, inner;

/* The size of the pages behind an address, in kB. */
static unsigned long page_of(const void *address)
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

static void run(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(7);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 7 << 8);
	if (page_of(&status) > 64)
		fail("the coroutine's stack is on pages of %lu kB", page_of(&status));
}

static void *count(void *argument)
{
	for (;;)
		(*(volatile long *)argument)++;
	return argument;
}

int main(void)
{
	fill_heap(60);
	start(count, memset(get(MIB), 0, MIB));
	CHECK(!getcontext(&inner));
	inner.uc_stack.ss_sp = get(SIZE);
	inner.uc_stack.ss_size = SIZE;
	inner.uc_link = &outer;
	makecontext(&inner, run, 0);
	CHECK(!swapcontext(&outer, &inner));
	check_heap("parent");
	right();
}
#else
/* musl has no such functions. */
int main(void) { right(); }
#endif
