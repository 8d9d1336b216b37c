/* Alternate signal stacks, or whole stacks of threads, that the program has
   from malloc, in use while the main thread forks. Arguments: main (its own
   alternate stack, also in the child), threads (theirs), whole (their stacks);
   how many threads; MiB of heap; whether a buffer in the heap is registered with
   io_uring before (1), and then no page left in the pool (2). */
#include "contract.h"
#include "ring.h"

static volatile int stop;
static volatile long handled;
static int whole, alternate, idle;

static void on_signal(int signal)
{
	volatile char frame[3000];

	(void)signal;
	memset((char *)frame, 7, sizeof frame);
	handled += frame[1500];
}

static void take_stack(void)
{
	stack_t stack = {.ss_sp = get(65536), .ss_size = 65536};

	memset(stack.ss_sp, 0, 65536);
	CHECK(!sigaltstack(&stack, NULL));
}

/* Counts in its own block and on its stack; both must agree at the end. */
static void *work(void *argument)
{
	volatile long *block = get(MIB), own = 0;
	size_t i;

	memset((void *)block, 0, MIB);
	if (alternate)
		take_stack();
	while (!stop) {
		for (i = 0; i < MIB / sizeof *block; i += 512)
			block[i]++;
		own++;
		raise(SIGUSR1);
		if (idle)
			usleep(1000);
	}
	for (i = 0; i < MIB / sizeof *block; i += 512)
		if (block[i] != own)
			fail("a thread counted to %ld in its block, %ld on its stack", block[i], own);
	return argument;
}

static void begin_device(void)
{
	static struct ring ring;

	/* A kernel or a container without it: nothing to try. */
	if (ring_begin(&ring, memset(get_aligned(4096, 65536), 0, 65536), 65536))
		CHECK(errno == ENOSYS || errno == EPERM);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "main";
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
	int i, threads = number(argc, argv, 2, 3), device = number(argc, argv, 4, 0);
	char *small[2000];
	FILE *file[20];
	pthread_t thread[16];

	whole = !strcmp(mode, "whole");
	alternate = !strcmp(mode, "threads");
	CHECK(threads <= 16);
	fill_heap((size_t)number(argc, argv, 3, 90));
	for (i = 0; i < 2000; i++)
		memset(small[i] = get(6000), 1, 6000);
	sigaction(SIGUSR1, &action, NULL);
	if (device)
		begin_device();
	if (!strcmp(mode, "main"))
		take_stack();
	for (i = 0; i < 20; i++)
		CHECK((file[i] = fopen("/dev/null", "w")) && fputc('x', file[i]) == 'x');
	idle = threads == 1;
	for (i = 0; i < threads; i++) {
		pthread_attr_t attributes;

		pthread_attr_init(&attributes);
		if (whole)
			CHECK(!pthread_attr_setstack(&attributes, get_aligned(4096, MIB), MIB));
		CHECK(!pthread_create(&thread[i], &attributes, work, NULL));
	}
	usleep(10000);
	if (device > 1)
		empty_pool();
	for (i = 0; i < (device ? 10 : 3); i++) {
		pid_t child = fork();

		if (!child) {
			check_heap("child");
			small[3][0] = 7;
			raise(SIGUSR1);
			write_heap();
			_exit(0);
		}
		raise(SIGUSR1);
		wait_for(child, mode);
	}
	stop = 1;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	write_heap();
	check_heap("parent");
	right();
}
