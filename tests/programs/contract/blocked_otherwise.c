/* Signals of faults are blocked, or let be, by functions that libc makes of others: who
   writes to a page of the pool that a child shares, and of which there is no second one, is
   no less right for that, and is told what it has set. */
#include "contract.h"
#include "unseen.h"
#include <poll.h>

typedef void handles(int);

static volatile sig_atomic_t seen;

static void *named(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

#define NAMED(type, name, args) type(*of_##name) args = (type(*) args)named(#name)

static void handle(int signal)
{
	seen = signal;
	write_heap();
}

/* Writes to the heap while a child has it, too. */
static void write_shared(const char *who)
{
	pid_t child = unseen_child();

	write_heap();
	end_unseen(child);
	check_heap(who);
}

static int blocked(int signal)
{
	sigset_t now;

	CHECK(!sigprocmask(SIG_BLOCK, NULL, &now));
	return sigismember(&now, signal);
}

static void check_bits(void)
{
	NAMED(int, sigblock, (int));
	NAMED(int, sigsetmask, (int));
	NAMED(int, siggetmask, (void));
	/* Nobody sends SIGSTKFLT (16), which stands for others. */
	int both = 1 << (SIGSEGV - 1) | 1 << (SIGBUS - 1), other = ~(1 << 15);

	/* musl has none of them. */
	if (!of_sigblock || !of_sigsetmask || !of_siggetmask)
		return;
	CHECK(of_sigblock(1 << (SIGUSR1 - 1)) == 0);
	CHECK(of_sigblock(-1) == 1 << (SIGUSR1 - 1));
	CHECK((of_siggetmask() & both) == both && blocked(SIGSEGV) == 1 && blocked(SIGBUS) == 1 && blocked(40) == 0);
	write_shared("sigblock");
	CHECK((of_sigsetmask(0) & both) == both && of_siggetmask() == 0 && blocked(SIGBUS) == 0);
	CHECK(of_sigsetmask(both) == 0 && (of_siggetmask() & other) == both);
	write_shared("sigsetmask");
	CHECK((of_sigsetmask(0) & other) == both && !of_siggetmask());
}

static void check_one(void)
{
	NAMED(int, sighold, (int));
	NAMED(int, sigrelse, (int));
	NAMED(handles *, sigset, (int, handles *));

	CHECK(!of_sighold(SIGSEGV) && !of_sighold(SIGBUS) && blocked(SIGSEGV) && blocked(SIGBUS));
	CHECK(of_sighold(99) == -1 && errno == EINVAL && of_sigrelse(0) == -1 && errno == EINVAL);
	write_shared("sighold");
	CHECK(!of_sigrelse(SIGBUS) && blocked(SIGSEGV) && !blocked(SIGBUS) && !of_sigrelse(SIGSEGV) && !blocked(SIGSEGV));
	CHECK(of_sigset(SIGBUS, SIG_DFL) == SIG_DFL && of_sigset(SIGUSR1, handle) == SIG_DFL);
	CHECK(of_sigset(SIGBUS, (handles *)2) == SIG_DFL && of_sigset(SIGSEGV, (handles *)2) == SIG_DFL);
	CHECK(blocked(SIGBUS) && of_sigset(SIGBUS, SIG_DFL) == (handles *)2 && !blocked(SIGBUS));
	CHECK(of_sigset(SIGSEGV, SIG_DFL) == (handles *)2 && !blocked(SIGSEGV) && of_sigset(SIGUSR1, SIG_DFL) == handle);
	CHECK(of_sigset(99, SIG_DFL) == SIG_ERR && errno == EINVAL);
}

static void check_handlers(void)
{
	NAMED(handles *, bsd_signal, (int, handles *));
	NAMED(handles *, ssignal, (int, handles *));
	NAMED(handles *, sysv_signal, (int, handles *));
	NAMED(int, sigignore, (int));
	struct sigaction told;

	if (of_bsd_signal) {
		CHECK(of_bsd_signal(SIGBUS, handle) == SIG_DFL);
		write_shared("bsd_signal");
		CHECK(!seen && !raise(SIGBUS) && seen == SIGBUS);
		CHECK(!sigaction(SIGBUS, NULL, &told) && told.sa_handler == handle && told.sa_flags & SA_RESTART);
		seen = 0;
	}
	if (of_ssignal && of_sysv_signal) {
		CHECK(of_sysv_signal(SIGSEGV, handle) == SIG_DFL && of_ssignal(SIGSEGV, handle) == handle);
		CHECK(!sigaction(SIGSEGV, NULL, &told) && told.sa_handler == handle && told.sa_flags & SA_RESTART);
		write_shared("ssignal");
		CHECK(of_sysv_signal(SIGSEGV, handle) == handle && !raise(SIGSEGV) && seen == SIGSEGV);
		CHECK(of_ssignal(SIGSEGV, SIG_DFL) == SIG_DFL);
		seen = 0;
	}
	CHECK(!of_sigignore(SIGSEGV) && !of_sigignore(SIGUSR2) && of_sigignore(SIGKILL) == -1 && errno == EINVAL);
	CHECK(!raise(SIGSEGV) && !raise(SIGUSR2));
	write_shared("sigignore");
	CHECK(!sigaction(SIGSEGV, NULL, &told) && told.sa_handler == SIG_IGN);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN && signal(SIGBUS, SIG_DFL) != SIG_ERR);
}

static void *write_blocked(void *argument)
{
	CHECK(blocked(SIGSEGV) == 1 && blocked(SIGBUS) == 1 && blocked(SIGINT) == 1);
	write_heap();
	return argument;
}

static void check_thread(void)
{
	NAMED(int, pthread_attr_setsigmask_np, (pthread_attr_t *, const sigset_t *));
	NAMED(int, pthread_attr_getsigmask_np, (const pthread_attr_t *, sigset_t *));
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, told;
	pid_t child;

#ifndef __GLIBC__
	return;
#endif
	sigfillset(&all);
	CHECK(!pthread_attr_init(&attributes));
	CHECK(of_pthread_attr_getsigmask_np(&attributes, &told) == -1);
	CHECK(!of_pthread_attr_setsigmask_np(&attributes, &all));
	CHECK(!of_pthread_attr_getsigmask_np(&attributes, &told));
	CHECK(sigismember(&told, SIGSEGV) == 1 && sigismember(&told, SIGBUS) == 1 && sigismember(&told, SIGINT) == 1);
	child = unseen_child();
	CHECK(!pthread_create(&thread, &attributes, write_blocked, NULL) && !pthread_join(thread, NULL));
	end_unseen(child);
	check_heap("a thread");
	CHECK(!of_pthread_attr_setsigmask_np(&attributes, NULL));
	CHECK(of_pthread_attr_getsigmask_np(&attributes, &told) == -1);
}

/* A handler that runs while a checked program waits with all other signals blocked. */
static void check_wait(void)
{
	NAMED(int, __ppoll_chk, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t));
	struct timespec soon = {5, 0};
	sigset_t one, all;
	pid_t child;

#ifndef __GLIBC__
	return;
#endif
	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	CHECK(signal(SIGUSR1, handle) != SIG_ERR && !sigprocmask(SIG_BLOCK, &one, NULL) && !raise(SIGUSR1));
	child = unseen_child();
	seen = 0;
	CHECK(of___ppoll_chk(NULL, 0, &soon, &all, 0) == -1 && errno == EINTR && seen == SIGUSR1);
	end_unseen(child);
	check_heap("a handler");
	CHECK(!sigprocmask(SIG_UNBLOCK, &one, NULL));
}

int main(void)
{
	fill_heap(40);
	use_up_pool();
	check_bits();
	check_one();
	check_handlers();
	check_wait();
	check_thread();
	right();
}
