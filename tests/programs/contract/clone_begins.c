/* Children that begin with a function, by libc's clone(2), while other threads are at work
   in malloc: each allocates, writes to all of the heap, and ends with what it returns.
   Plainly one may wait for ever, for a lock that another thread held. Their stack is a
   mapping or a block; in a handler, too, and with the stack for handlers that the parent
   has named. Arguments: how often, other threads, whether in a handler. */
#include "contract.h"
#include <sched.h>

#define STACK ((size_t)128 << 10)

static char *stack;
static int times;
static pid_t *noted;
static stack_t signals;

static void *allocate(void *argument)
{
	unsigned state = (unsigned)(size_t)argument;
	char *blocks[64] = {0};

	for (;;) {
		int at;

		state = state * 1103515245u + 12345;
		at = (int)(state >> 9) & 63;
		free(blocks[at]);
		blocks[at] = get(16 + (state >> 8) % ((state >> 20) % 8 ? 4000 : 400 << 10));
		blocks[at][0] = 1;
	}
	return argument;
}

static int child(void *argument)
{
	stack_t now;
	char here;

	CHECK(argument == &times && &here > stack && &here < stack + STACK);
	CHECK(!sigaltstack(NULL, &now) && now.ss_sp == signals.ss_sp);
#ifdef __GLIBC__
	CHECK(*noted == getpid());
#endif
	check_heap("child, as it was");
	write_heap();
	for (int i = 0; i < 300; i++) {
		char *block = get((size_t)i * 1000 + 1);

		block[i * 1000] = 1;
		free(block);
	}
	check_heap("child");
	return 7;
}

static void clone_once(int signal)
{
	const int flags = SIGCHLD | CLONE_CHILD_SETTID;
	struct timespec moment = {0, 1000000};
	int status, waited = 0;
	pid_t pid, ended;

	(void)signal;
	pid = clone(child, stack + STACK, flags, &times, NULL, NULL, noted);
	CHECK(pid > 0);
	while (!(ended = waitpid(pid, &status, WNOHANG)) && waited++ < 5000)
		nanosleep(&moment, NULL);
	if (!ended) {
		kill(pid, SIGKILL);
		fail("a child is still there after 5 seconds");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		fail("a child ended with %x", status);
}

int main(int argc, char **argv)
{
	int rounds = number(argc, argv, 1, 20), threads = number(argc, argv, 2, 3);

	fill_heap(24);
	signals.ss_size = 64 << 10;
	signals.ss_sp = get(signals.ss_size);
	CHECK(!sigaltstack(&signals, NULL));
	noted = get(sizeof *noted);
	for (int i = 1; i <= threads; i++)
		start(allocate, (void *)(size_t)i);
	CHECK(signal(SIGUSR1, clone_once) != SIG_ERR);
	for (times = 0; times < rounds; times++) {
		int is_block = times % 2;

		stack = is_block ? get(STACK) : mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(stack != MAP_FAILED);
		if (number(argc, argv, 3, 0))
			CHECK(!raise(SIGUSR1));
		else
			clone_once(0);
		is_block ? free(stack) : (void)munmap(stack, STACK);
	}
	check_heap("parent");
#ifdef __GLIBC__
	CHECK(clone(NULL, stack, SIGCHLD, NULL) == -1 && errno == EINVAL);
	CHECK(clone(child, NULL, SIGCHLD, NULL) == -1 && errno == EINVAL);
#endif
	right();
}
