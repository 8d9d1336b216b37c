/* A handler without SA_ONSTACK runs on the stack that was interrupted, although
   there is an alternate one for other signals; one with it runs there. */
#include "contract.h"
#include <fcntl.h>
#include <setjmp.h>

static sigjmp_buf back;
static char *alternate;
static volatile int on_alternate;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	volatile char here = 0;

	(void)signal, (void)info, (void)context;
	on_alternate = (char *)&here >= alternate && (char *)&here < alternate + 65536;
	siglongjmp(back, 1);
}

static void try(int signal, int flags, volatile char *where, const char *what)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags}, is;

	CHECK(!sigaction(signal, &action, NULL));
	CHECK(!sigaction(signal, NULL, &is));
	CHECK(is.sa_sigaction == on_fault && (is.sa_flags & SA_ONSTACK) == flags);
	on_alternate = -1;
	if (!sigsetjmp(back, 1)) {
		*where = 1;
		fail("%s: there was no signal", what);
	}
	if (on_alternate != (flags == SA_ONSTACK))
		fail("%s: the handler ran on the %s stack", what, on_alternate ? "alternate" : "thread's");
}

int main(void)
{
	char name[] = "/tmp/contract-XXXXXX";
	volatile char *gone, *closed;
	stack_t stack = {.ss_size = 65536};
	int file;

	fill_heap(64);
	alternate = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack.ss_sp = alternate;
	CHECK(!sigaltstack(&stack, NULL));
	CHECK((file = mkstemp(name)) >= 0 && !unlink(name) && !ftruncate(file, 4096));
	gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(!ftruncate(file, 0));
	closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	try(SIGBUS, 0, gone, "SIGBUS without SA_ONSTACK");
	try(SIGBUS, SA_ONSTACK, gone, "SIGBUS with SA_ONSTACK");
	try(SIGSEGV, 0, closed, "SIGSEGV without SA_ONSTACK");
	try(SIGSEGV, SA_ONSTACK, closed, "SIGSEGV with SA_ONSTACK");
	right();
}
