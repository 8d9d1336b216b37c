/* A program with handlers of its own for SIGBUS and SIGSEGV, which must see its
   own faults and no others; and all the ways to start a child. The heap does
   not fit twice into the pool. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)
#define BLOCKS 160
#define CHECK(what) ((what) ? (void)0 : fail(#what, __LINE__))

extern char **environ;
static volatile uint64_t *block[BLOCKS];
static sigjmp_buf back;
static volatile int calls, depth, deepest;
static void *volatile seen_addr;
static char *volatile seen_stack;
static char alternate[64 << 10];

static void fail(const char *what, int line)
{
	fprintf(stderr, "line %d: %s (errno %d)\n", line, what, errno);
	_exit(4);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	char here;

	(void)signal, (void)context;
	calls++;
	seen_addr = info->si_addr;
	seen_stack = &here;
	siglongjmp(back, 1);
}

static void simple(int signal)
{
	(void)signal;
	calls++;
	siglongjmp(back, 1);
}

/* Faults once more in the handler, which only SA_NODEFER allows. */
static volatile char *again;
static void nested(int signal)
{
	(void)signal;
	calls++;
	if (++depth > deepest)
		deepest = depth;
	if (depth == 1)
		*again = 1;
	siglongjmp(back, 1);
}

/* A page that is not there any more: SIGBUS. */
static volatile char *bus_page(void)
{
	FILE *f = tmpfile();
	char *at;

	CHECK(f && !ftruncate(fileno(f), 8192));
	at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
	CHECK(at != MAP_FAILED && !ftruncate(fileno(f), 0));
	fclose(f);
	return at;
}

static int faults(volatile char *at)
{
	int before = calls;

	if (!sigsetjmp(back, 1))
		*at = 1;
	return calls - before;
}

static void own_faults(int number, volatile char *at)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	struct sigaction action, old;
	sigset_t now;

	CHECK(!sigaltstack(&stack, NULL));
	memset(&action, 0, sizeof action);
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaddset(&action.sa_mask, SIGUSR1);
	CHECK(!sigaction(number, &action, NULL));
	CHECK(!sigaction(number, NULL, &old));
	CHECK(old.sa_sigaction == on_fault && old.sa_flags & SA_ONSTACK && sigismember(&old.sa_mask, SIGUSR1));
	CHECK(faults(at + 5) == 1 && seen_addr == at + 5);
	CHECK(seen_stack >= alternate && seen_stack < alternate + sizeof alternate);
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &now) && !sigismember(&now, SIGUSR1));

	memset(&action, 0, sizeof action);
	action.sa_handler = nested;
	action.sa_flags = SA_NODEFER;
	CHECK(!sigaction(number, &action, &old) && old.sa_sigaction == on_fault);
	again = at, depth = deepest = 0;
	CHECK(faults(at) == 2 && deepest == 2);

	CHECK(signal(number, simple) == nested);
	CHECK(faults(at) == 1 && faults(at) == 1);
}

static void write_all(uint64_t seed)
{
	size_t i, k;

	for (i = 0; i < BLOCKS; i++)
		for (k = 0; k < BLOCK / 8; k += 64)
			block[i][k] = seed + i * 1000003 + k;
}

static int is_all(uint64_t seed)
{
	size_t i, k;

	for (i = 0; i < BLOCKS; i++)
		for (k = 0; k < BLOCK / 8; k += 64)
			if (block[i][k] != seed + i * 1000003 + k)
				return 0;
	return 1;
}

static void wait_for(pid_t pid, int wanted)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == wanted);
}

/* Past every handler of libc: only the net helps, beside the own handler. */
static void raw_clone(void)
{
	int before = calls;
	pid_t pid;

	write_all(1);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		CHECK(is_all(1));
		write_all(2);
		CHECK(is_all(2) && calls == before);
		_exit(7);
	}
	write_all(3);
	CHECK(is_all(3));
	wait_for(pid, 7);
	CHECK(calls == before);
}

static void other_children(void)
{
	char *const argv[] = {"sh", "-c", "exit 5", NULL};
	struct sigaction now;
	pid_t pid = vfork();

	if (pid == 0) {
		/* As shells do; the parent's stays. */
		struct sigaction none;

		memset(&none, 0, sizeof none);
		none.sa_handler = SIG_DFL;
		sigaction(SIGBUS, &none, NULL);
		execv("/bin/sh", argv);
		_exit(1);
	}
	wait_for(pid, 5);
	CHECK(!sigaction(SIGBUS, NULL, &now) && now.sa_handler == simple);
	CHECK(!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ));
	wait_for(pid, 5);
	CHECK(WEXITSTATUS(system("exit 6")) == 6);
	CHECK(is_all(3));
}

/* All threads fork, again and again. */
static void *forker(void *arg)
{
	uint64_t *own = malloc(4 * BLOCK);
	uintptr_t seed = (uintptr_t)arg;
	size_t k;
	int i;

	for (i = 0; i < 8; i++) {
		pid_t pid;

		for (k = 0; k < 4 * BLOCK / 8; k += 64)
			own[k] = seed + k + (uint64_t)i;
		pid = fork();
		if (pid == 0) {
			for (k = 0; k < 4 * BLOCK / 8; k += 64)
				if (own[k]++ != seed + k + (uint64_t)i)
					_exit(8);
			_exit(is_all(3) ? 9 : 10);
		}
		wait_for(pid, 9);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[6];
	volatile char *closed = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *gone = bus_page();
	int i;

	for (i = 0; i < BLOCKS; i++)
		block[i] = malloc(BLOCK);
	write_all(0);
	own_faults(SIGSEGV, closed);
	own_faults(SIGBUS, gone);
	raw_clone();
	other_children();
	for (i = 0; i < 6; i++)
		CHECK(!pthread_create(&thread[i], NULL, forker, (void *)(uintptr_t)(i * 100)));
	for (i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	CHECK(is_all(3));
	own_faults(SIGSEGV, closed);
	own_faults(SIGBUS, gone);
	CHECK(signal(SIGBUS, SIG_DFL) == simple);
	printf("right\n");
	return 0;
}
