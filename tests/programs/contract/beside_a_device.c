/* Forks of a thread that is on a coroutine's stack, or in a handler on a stack for
   signals, beside a buffer that is registered with io_uring: all are blocks of the
   heap, on one huge page. Then the same without a descriptor left. Arguments: other
   threads; whether there is an open file instead that a device reads straight into
   buffers, and no page left in the pool. */
#include "contract.h"
#include "ring.h"
#include <fcntl.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

#define LENGTH 65536

static char *buffer, *signals;
static volatile int handled;

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void fork_here(const char *where)
{
	volatile long local = 4242;
	int i;

	for (i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("%s: no fork (errno %d)", where, errno);
		if (!child) {
			CHECK(local == 4242);
			raise(SIGUSR2);
			CHECK(handled);
			memset(buffer, 'z', LENGTH);
			check_heap("child");
			_exit(0);
		}
		local++;
		wait_for(child, where);
		CHECK(local == 4243);
		local--;
	}
}

static void on_signal(int signal)
{
	volatile char here = 0;

	CHECK(&here >= signals && &here < signals + LENGTH);
	if (signal == SIGUSR1)
		fork_here("a handler on a stack of its own");
	handled = 1;
}

#ifdef __GLIBC__
static ucontext_t outer, inner;

static void coroutine(void)
{
	fork_here("a coroutine");
	raise(SIGUSR1);
}
#endif

static void fork_everywhere(const char *where)
{
	fork_here(where);
	raise(SIGUSR1);
#ifdef __GLIBC__
	getcontext(&inner);
	inner.uc_stack.ss_sp = signals + LENGTH;
	inner.uc_stack.ss_size = LENGTH;
	inner.uc_link = &outer;
	makecontext(&inner, coroutine, 0);
	swapcontext(&outer, &inner);
#endif
}

/* Whether there is who may write to the buffer by itself. */
static int begin_device(int by_file)
{
	static struct ring ring;

	if (by_file)
		return open("/proc/self/exe", O_RDONLY | O_DIRECT) >= 0;
	if (!ring_begin(&ring, buffer, LENGTH))
		return 1;
	/* A kernel or a container without it: nothing to try. */
	CHECK(errno == ENOSYS || errno == EPERM);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	int i, threads = number(argc, argv, 1, 0);
	struct rlimit limit, none;
	stack_t stack;

	fill_heap(60);
	/* The buffer, the stack for signals, the coroutine's. */
	buffer = get_aligned(4096, 3 * LENGTH);
	signals = buffer + LENGTH;
	memset(buffer, 0, 3 * LENGTH);
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	if (!begin_device(number(argc, argv, 2, 0)))
		right();
	if (number(argc, argv, 2, 0))
		empty_pool();
	stack = (stack_t){.ss_sp = signals, .ss_size = LENGTH};
	CHECK(!sigaltstack(&stack, NULL));
	CHECK(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL));
	fork_everywhere("main");
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	fork_everywhere("without descriptors");
	CHECK(!getrlimit(RLIMIT_NOFILE, &none) && none.rlim_cur == 0 && none.rlim_max == limit.rlim_max);
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(!sigaltstack(NULL, &stack) && stack.ss_sp == signals && stack.ss_size == LENGTH && !stack.ss_flags);
	check_heap("parent");
	right();
}
