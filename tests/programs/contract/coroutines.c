/* Coroutines on blocks of the heap, with as many arguments as there are for makecontext,
   some in registers and some on the stack: their stacks are ordinary memory before they
   begin, and each gets what was passed to it. They run in a thread while the main thread
   forks. */
#include "contract.h"

#ifdef __GLIBC__
enum { COROUTINES = 40, FORKS = 6 };
#define SIZE ((size_t)64 << 10)

static ucontext_t outer, inner;
static volatile int stop;
static volatile long runs;

static void check_stack(void)
{
	volatile char here = 0;

	if (page_of((const char *)&here) > 64)
		fail("a coroutine's stack is on pages of %lu kB", page_of((const char *)&here));
}

static void none(void)
{
	check_stack();
	runs++;
}

static void twelve(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l)
{
	int got[] = {a, b, c, d, e, f, g, h, i, j, k, l};

	for (int n = 0; n < 12; n++)
		if (got[n] != -1000 * (n + 1))
			fail("argument %d is %d", n, got[n]);
	runs++;
}

static void *run(void *argument)
{
	volatile int i;

	while (!stop)
		for (i = 0; i < COROUTINES; i++) {
			CHECK(!getcontext(&inner));
			inner.uc_stack.ss_sp = get(SIZE);
			inner.uc_stack.ss_size = SIZE;
			inner.uc_link = &outer;
			errno = 4242;
			if (i % 8)
				makecontext(&inner, (void (*)(void))twelve, 12, -1000, -2000, -3000, -4000, -5000, -6000,
					    -7000, -8000, -9000, -10000, -11000, -12000);
			else
				makecontext(&inner, none, 0);
			CHECK(errno == 4242);
			CHECK(!swapcontext(&outer, &inner));
			free(inner.uc_stack.ss_sp);
		}
	return argument;
}

int main(void)
{
	pthread_t thread;

	fill_heap(60);
	thread = start(run, NULL);
	for (int i = 0; i < FORKS; i++) {
		long before = runs;
		pid_t child;

		while (runs < before + 100)
			usleep(1000);
		if (!(child = fork())) {
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	stop = 1;
	CHECK(!pthread_join(thread, NULL));
	check_heap("parent");
	right();
}
#else
/* musl has no such functions. */
int main(void) { right(); }
#endif
