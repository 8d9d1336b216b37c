/* A thread whose stack ends where a page begins to which a device may write, and on that
   page the stack on which another thread handles its signals: one forks, the other gets
   signals meanwhile, and no page is left in the pool. Argument: thread, or coroutine. */
#include "contract.h"
#include "ring.h"

#define LENGTH 65536
#define STACK 262144
#define FORKS 40

static char *border;
static volatile int ended;
static volatile long handled;

static void on_signal(int signal)
{
	volatile char frame[3000];

	(void)signal;
	memset((char *)frame, 1, sizeof frame);
	CHECK(&frame[0] > border && &frame[0] < border + 2 * MIB);
	handled++;
}

static void *get_signals(void *argument)
{
	stack_t stack = {.ss_sp = border + MIB, .ss_size = LENGTH};

	CHECK(!sigaltstack(&stack, NULL));
	while (!ended) {
		raise(SIGUSR1);
		usleep(50);
	}
	return argument;
}

static void *forks(void *argument)
{
	volatile int here = 7;
	int i;

	for (i = 0; i < FORKS; i++) {
		pid_t child = fork();

		if (child < 0)
			fail("no fork (errno %d)", errno);
		if (!child) {
			CHECK(here == 7);
			write_heap();
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
		CHECK(here == 7);
	}
	return argument;
}

#ifdef __GLIBC__
static ucontext_t outer, inner;

static void coroutine(void)
{
	forks(NULL);
}

static void *run_coroutine(void *argument)
{
	swapcontext(&outer, &inner);
	return argument;
}
#endif

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
	int is_coroutine = argc > 1 && !strcmp(argv[1], "coroutine");
	pthread_t forking, handling;
	pthread_attr_t attributes;
	void *(*run)(void *) = forks;
	struct ring ring;
	char *block;

	fill_heap(20);
	block = get_aligned(2 * MIB, 8 * MIB);
	memset(block, 'a', 8 * MIB);
	border = block + 4 * MIB;
	CHECK(!pthread_attr_init(&attributes));
	if (!is_coroutine)
		CHECK(!pthread_attr_setstack(&attributes, border - STACK, STACK));
#ifdef __GLIBC__
	if (is_coroutine) {
		CHECK(!getcontext(&inner));
		inner.uc_stack.ss_sp = border - STACK;
		inner.uc_stack.ss_size = STACK;
		inner.uc_link = &outer;
		makecontext(&inner, coroutine, 0);
		run = run_coroutine;
	}
#endif
	if (ring_begin(&ring, border, LENGTH)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	handling = start(get_signals, NULL);
	while (!handled)
		usleep(1000);
	empty_pool();
	CHECK(!pthread_create(&forking, &attributes, run, NULL));
	CHECK(!pthread_join(forking, NULL));
	ended = 1;
	CHECK(!pthread_join(handling, NULL));
	check_heap("parent");
	right();
}
