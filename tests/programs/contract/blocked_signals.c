/* All signals are blocked, by a thread or while a handler runs, and a child that
   libc knows nothing of shares the heap: writing to it is no reason to die. What
   is blocked is told as it was set, and a signal that is sent waits.
   Argument: other threads, which do the same. */
#include "contract.h"
#include <sched.h>

static char stack[64 << 10] __attribute__((aligned(16)));
static int to_child[2];
static volatile sig_atomic_t seen[65];

static int live_on(void *argument)
{
	char byte;

	/* Until its parent has written to all of the heap. */
	close(to_child[1]);
	return read(to_child[0], &byte, 1) != 0 || argument;
}

static void count(int signal)
{
	seen[signal]++;
}

static void write_in_handler(int signal)
{
	seen[signal]++;
	write_heap();
}

static int same(const sigset_t *a, const sigset_t *b)
{
	int signal;

	/* Nobody sends SIGSTKFLT (16), which stands for others. */
	for (signal = 1; signal < 65; signal++)
		if (signal != 16 && sigismember(a, signal) != sigismember(b, signal))
			return 0;
	return 1;
}

/* As it is after blocking all: without those that nobody can block. */
static void all_signals(sigset_t *set)
{
	sigset_t before;

	sigfillset(set);
	CHECK(!pthread_sigmask(SIG_SETMASK, set, &before));
	CHECK(!pthread_sigmask(SIG_SETMASK, &before, set));
	CHECK(sigismember(set, SIGSEGV) == 1 && sigismember(set, SIGBUS) == 1 && sigismember(set, SIGINT) == 1);
}

static void check_sets(void)
{
	sigset_t all, none, some, now;
	struct sigaction action = {.sa_handler = count}, told;

	all_signals(&all);
	sigemptyset(&none);
	some = all;
	sigdelset(&some, SIGBUS);
	sigdelset(&some, SIGINT);
	CHECK(!sigprocmask(SIG_BLOCK, &all, NULL) && !sigprocmask(SIG_UNBLOCK, NULL, &now) && same(&now, &all));
	sigemptyset(&now);
	sigaddset(&now, SIGBUS);
	sigaddset(&now, SIGINT);
	CHECK(!pthread_sigmask(SIG_UNBLOCK, &now, NULL) && !pthread_sigmask(SIG_BLOCK, NULL, &now) && same(&now, &some));
	CHECK(!pthread_sigmask(SIG_SETMASK, &none, &now) && same(&now, &some));
	CHECK(!pthread_sigmask(SIG_BLOCK, &none, &now) && same(&now, &none));
	CHECK(sigprocmask(77, &none, NULL) == -1 && errno == EINVAL && pthread_sigmask(77, &none, NULL) == EINVAL);
	sigfillset(&action.sa_mask);
	CHECK(!sigaction(SIGUSR2, &action, NULL) && !sigaction(SIGUSR2, NULL, &told));
	CHECK(sigismember(&told.sa_mask, SIGSEGV) == 1 && sigismember(&told.sa_mask, SIGBUS) == 1);
	CHECK(sigismember(&told.sa_mask, SIGINT) == 1 && told.sa_handler == count);
}

static void check_pending(int signal)
{
	struct sigaction action = {.sa_handler = count};
	sigset_t all, none, pending;

	sigfillset(&all);
	sigemptyset(&none);
	CHECK(!sigaction(signal, &action, NULL) && !pthread_sigmask(SIG_SETMASK, &all, NULL));
	seen[signal] = 0;
	CHECK(!kill(getpid(), signal));
	CHECK(!sigpending(&pending) && sigismember(&pending, signal) == 1 && !seen[signal]);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &pending) && sigismember(&pending, signal) == 1);
	CHECK(!pthread_sigmask(SIG_SETMASK, &none, NULL) && seen[signal] == 1);
	CHECK(!pthread_sigmask(SIG_SETMASK, &all, NULL) && !raise(signal) && seen[signal] == 1);
	CHECK(sigsuspend(&none) == -1 && errno == EINTR && seen[signal] == 2);
	CHECK(!raise(signal) && seen[signal] == 2);
	CHECK(!pthread_sigmask(SIG_SETMASK, &none, NULL) && seen[signal] == 3);
}

static void *write_blocked(void *argument)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	write_heap();
	check_heap("a thread");
	return argument;
}

int main(int argc, char **argv)
{
	int i, threads = number(argc, argv, 1, 0);
	struct sigaction action = {.sa_handler = write_in_handler};
	pthread_t thread[16];
	pid_t child;

	fill_heap(64);
	check_sets();
	check_pending(SIGBUS);
	check_pending(SIGSEGV);
	CHECK(!pipe(to_child));
	child = clone(live_on, stack + sizeof stack, SIGCHLD, NULL);
	CHECK(child > 0);
	sigfillset(&action.sa_mask);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	for (i = 0; i < threads; i++)
		thread[i] = start(write_blocked, NULL);
	CHECK(!raise(SIGUSR1) && seen[SIGUSR1] == 1);
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	close(to_child[1]);
	wait_for(child, "clone");
	write_blocked(NULL);
	right();
}
