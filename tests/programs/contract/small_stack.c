/* A heap that grows on small stacks: of a thread, and of a coroutine whose stack
   has a pattern below it. Arguments: thread or coroutine, bytes, MiB of heap
   that is there before. */
#include "contract.h"
#ifdef __GLIBC__
#include <ucontext.h>
#endif

static void *allocate(void *argument)
{
	int i;

	for (i = 0; i < 30000; i++) {
		char *block = malloc(1000);

		block[0] = block[999] = 1;
		if (i % 50 == 0)
			free(realloc(malloc(70000), 200000));
		if (i % 1000 == 0)
			free(calloc(1, 3 << 20));
	}
	return argument;
}

static void in_thread(size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstacksize(&attributes, size));
	CHECK(!pthread_create(&thread, &attributes, allocate, NULL));
	pthread_join(thread, NULL);
}

#ifdef __GLIBC__
static ucontext_t outer, inner;

static void coroutine(void)
{
	allocate(NULL);
}

static void in_coroutine(size_t size)
{
	static char area[5 * 65536];
	char *stack = area + sizeof area - size;
	size_t i;

	memset(area, 0x5a, sizeof area);
	getcontext(&inner);
	inner.uc_stack.ss_sp = stack;
	inner.uc_stack.ss_size = size;
	inner.uc_link = &outer;
	makecontext(&inner, coroutine, 0);
	swapcontext(&outer, &inner);
	for (i = 0; i < sizeof area - size; i++)
		if (area[i] != 0x5a)
			fail("%zu bytes below the coroutine's stack were written to", sizeof area - size - i);
}
#endif

int main(int argc, char **argv)
{
	size_t size = (size_t)number(argc, argv, 2, 16384);

	fill_heap((size_t)number(argc, argv, 3, 0));
	if (argc > 1 && !strcmp(argv[1], "thread"))
		in_thread(size);
#ifdef __GLIBC__
	else
		in_coroutine(size);
#endif
	right();
}
