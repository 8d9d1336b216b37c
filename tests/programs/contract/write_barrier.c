/* The write barrier of a garbage collector: pages of blocks are closed by
   mprotect, and a handler opens them at the first write. Eight faults take no
   time. Arguments: other threads. */
#include "contract.h"

#define BLOCKS 8

static volatile int faults;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	faults++;
	CHECK(!mprotect((void *)((size_t)info->si_addr & ~(size_t)4095), 4096, PROT_READ | PROT_WRITE));
}

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int i, round, threads = number(argc, argv, 1, 1);
	volatile char *block[BLOCKS];
	double before, time;

	fill_heap(60);
	for (i = 0; i < BLOCKS; i++) {
		block[i] = get_aligned(2 * MIB, 4 * MIB);
		memset((char *)block[i], 1, 4 * MIB);
	}
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	sigaction(SIGSEGV, &action, NULL);
	for (round = 0; round < 3; round++) {
		before = seconds();
		for (i = 0; i < BLOCKS; i++) {
			CHECK(!mprotect((char *)block[i] + 8192, 4096, PROT_READ));
			block[i][8192 + 5] = (char)round;
		}
		time = seconds() - before;
		CHECK(faults == BLOCKS * (round + 1));
		if (time > 0.5)
			fail("%d faults took %.2f s", BLOCKS, time);
		/* After a fork as well. */
		if (round == 1) {
			pid_t child = fork();

			if (!child)
				_exit(0);
			wait_for(child, "fork");
		}
	}
	check_heap("parent");
	right();
}
