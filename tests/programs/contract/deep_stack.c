/* Forks from stacks that the program has from malloc: a thread in deep
   recursion, and a coroutine. With `threads` there are others that write. */
#include "contract.h"
#include <alloca.h>

static volatile int stop;

static void fork_twice(const char *where)
{
	volatile long local = 4242;
	int i;

	for (i = 0; i < 2; i++) {
		pid_t child = fork();

		if (!child) {
			volatile char *more = alloca(20000);

			more[0] = more[19999] = 1;
			CHECK(local == 4242);
			check_heap("child");
			_exit(0);
		}
		local++;
		wait_for(child, where);
		CHECK(local == 4243);
		local--;
	}
}

static void *deep(void *argument)
{
	volatile char *area = alloca(9 << 20);
	size_t i;

	for (i = 0; i < 9 << 20; i += 4096)
		area[i] = (char)(i >> 12);
	fork_twice("a thread");
	for (i = 0; i < 9 << 20; i += 4096)
		CHECK(area[i] == (char)(i >> 12));
	return argument;
}

#ifdef __GLIBC__
static ucontext_t outer, inner;

static void coroutine(void)
{
	fork_twice("a coroutine");
}
#endif

static void *write_blocks(void *argument)
{
	while (!stop)
		write_heap();
	return argument;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread, writer;
	int with = number(argc, argv, 1, 0);
	void *stack;

	fill_heap(64);
	stack = get_aligned(4096, 16 << 20);
	if (with)
		writer = start(write_blocks, NULL);
	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstack(&attributes, stack, 16 << 20));
	CHECK(!pthread_create(&thread, &attributes, deep, NULL));
	pthread_join(thread, NULL);
#ifdef __GLIBC__
	getcontext(&inner);
	inner.uc_stack.ss_sp = get(256 << 10);
	inner.uc_stack.ss_size = 256 << 10;
	inner.uc_link = &outer;
	untold_makecontext()(&inner, coroutine, 0);
	swapcontext(&outer, &inner);
#endif
	stop = 1;
	if (with)
		pthread_join(writer, NULL);
	check_heap("parent");
	right();
}
