/* A coroutine on a stack from malloc forks, in a process with threads. Afterwards its
   stack is ordinary memory: the kernel writes the frames of signals there by itself, and
   could not wait for a page of a pool that a child shares. */
#include "contract.h"

#ifdef __GLIBC__
#define SIZE ((size_t)64 << 10)

static ucontext_t outer, inner;

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
	untold_makecontext()(&inner, run, 0);
	CHECK(!swapcontext(&outer, &inner));
	check_heap("parent");
	right();
}
#else
/* musl has no such functions. */
int main(void) { right(); }
#endif
