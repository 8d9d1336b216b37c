/* Sets a seccomp filter: any call but this program's and those of glibc's malloc kills it.
   Arguments: MiB of heap before the filter; prctl, raw (seccomp(2)) or asked (only attempts that
   the kernel rejects); threads; fork, for a fork before the filter. */
#include "contract.h"
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "../filter.h"

static void confine(int raw)
{
	struct filter filter[] = {
	    {0x20, 0, 0, 0},
	    ALLOW(read), ALLOW(write), ALLOW(writev), ALLOW(exit), ALLOW(exit_group), ALLOW(brk), ALLOW(mmap), ALLOW(munmap),
	    ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise), ALLOW(futex), ALLOW(rt_sigreturn), ALLOW(rt_sigprocmask),
	    ALLOW(rt_sigaction), ALLOW(clock_gettime), ALLOW(nanosleep), ALLOW(clock_nanosleep), ALLOW(getpid),
	    ALLOW(set_robust_list), /* at the end of a thread */
	    {0x06, 0, 0, 0x80000000},
	};
	struct filters all = {sizeof filter / sizeof *filter, filter};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (raw)
		CHECK(!syscall(SYS_seccomp, 1, 1, &all));
	else
		CHECK(!prctl(PR_SET_SECCOMP, 2, &all));
}

/* Probes the kernel by calls that fail, as libseccomp does. */
static void probe_seccomp(void)
{
	CHECK(prctl(PR_SET_SECCOMP, 9, NULL) == -1 && errno == EINVAL);
	CHECK(prctl(PR_SET_SECCOMP, 2, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, 2, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_seccomp, 0, 1, NULL) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_seccomp, 1, 0, NULL) == -1 && errno == EFAULT);
	CHECK(syscall(SYS_seccomp, 1, 1, NULL) == -1 && errno == EFAULT);
}

static pthread_barrier_t confined;

static void *allocate(void *argument)
{
	char *block[64];
	int i, round;

	for (round = 0; round < 30; round++) {
		/* The first rounds may make other calls: glibc reads /proc once. */
		if (round == 10) {
			pthread_barrier_wait(&confined);
			pthread_barrier_wait(&confined);
		}
		for (i = 0; i < 64; i++)
			memset(block[i] = get(1000 + (size_t)i * 4000), i, 1000);
		for (i = 0; i < 64; i++)
			free(block[i]);
	}
	return argument;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	int i, threads = number(argc, argv, 3, 0);
	pthread_t thread[16];

	fill_heap((size_t)number(argc, argv, 1, 0));
	if (!strcmp(how, "asked")) {
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		probe_seccomp();
		fill_heap(64);
		puts("right");
		return 0; /* Without a filter, the library reports the end. */
	}
	if (argc > 4) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		wait_for(child, "fork");
	}
	pthread_barrier_init(&confined, NULL, (unsigned)threads + 1);
	for (i = 0; i < threads; i++)
		thread[i] = start(allocate, NULL);
	pthread_barrier_wait(&confined);
	confine(!strcmp(how, "raw"));
	pthread_barrier_wait(&confined);
	for (i = 0; i < 200000; i++)
		memset(get(256), 2, 256);
	usleep(10000);
	for (i = 0; i < 1000; i++)
		free(get(100000));
	for (i = 0; i < 60; i++) {
		char *block = get(MIB);

		block = realloc(block, 3 * MIB);
		memset(block, 1, 3 * MIB);
		free(block);
	}
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	check_heap("after the filter");
	pass();
}
