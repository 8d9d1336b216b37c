/* A fault whose signal is blocked kills, whatever handler there is: in a thread
   that blocks all signals, and in a handler during which all are blocked. Where
   all others are blocked the handler is called, for a fault and for a signal
   that is sent, also if they were blocked before there was a heap. */
#include "contract.h"
#include <setjmp.h>

static sigjmp_buf back;
static volatile sig_atomic_t calls;
static volatile char *closed;

static void come_back(int signal)
{
	calls++;
	siglongjmp(back, signal);
}

static void fault_again(int signal)
{
	CHECK(calls++ == 0);
	*closed = (char)signal;
}

static void count(int signal)
{
	calls += signal > 0;
}

static void handle(int signal, void (*handler)(int), int blocks_all)
{
	struct sigaction action = {.sa_handler = handler};

	if (blocks_all)
		sigfillset(&action.sa_mask);
	CHECK(!sigaction(signal, &action, NULL));
}

static void all_but(int first, int second)
{
	sigset_t set;

	sigfillset(&set);
	if (first)
		sigdelset(&set, first);
	if (second)
		sigdelset(&set, second);
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
}

static void fault(int signal)
{
	char *memory;
	FILE *file;

	if (signal == SIGBUS) {
		CHECK((file = tmpfile()));
		memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
		CHECK(memory != MAP_FAILED);
		*(volatile char *)memory = 1;
	} else {
		*closed = 1;
	}
}

static void blocked(int signal)
{
	handle(signal, come_back, 0);
	all_but(0, 0);
	if (!sigsetjmp(back, 0))
		fault(signal);
}

static void in_handler(int signal)
{
	handle(signal, fault_again, 1);
	handle(SIGSEGV, fault_again, 1);
	fault(signal);
}

static void killed(void (*by)(int), int signal, int expected)
{
	int status;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		calls = 0;
		by(signal);
		_exit(calls + 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != expected)
		fail("signal %d: the child ended with %x", signal, status);
}

int main(void)
{
	int signal, result;

	closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(closed != MAP_FAILED);
	all_but(SIGSEGV, SIGBUS);
	handle(SIGUSR1, count, 0);
	fill_heap(64);
	check_on_pool();
	for (signal = SIGBUS;; signal = SIGSEGV) {
		killed(blocked, signal, signal);
		killed(in_handler, signal, SIGSEGV);
		write_heap();
		calls = 0;
		handle(signal, count, 0);
		CHECK(!raise(signal) && calls == 1);
		handle(signal, come_back, 0);
		if (!(result = sigsetjmp(back, 1)))
			fault(signal);
		CHECK(result == signal && calls == 2);
		if (signal == SIGSEGV)
			break;
	}
	check_heap("at the end");
	right();
}
