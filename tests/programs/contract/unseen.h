/* A child that nobody has seen come, libc and libraries included, so that it shares
   the parent's pages of the pool; and a pool of which nothing is left. */
#ifndef UNSEEN_H
#define UNSEEN_H
#include <sys/prctl.h>
#include <sys/syscall.h>

static pid_t clone_unseen(void)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_clone), "D"((long)SIGCHLD), "S"(0L), "d"(0L)
			 : "rcx", "r11", "r8", "r10", "memory");
	return (pid_t)result;
#elif defined __s390x__
	return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

/* Such a child, which waits until it is killed, or its parent has ended. */
static pid_t unseen_child(void)
{
	pid_t child = clone_unseen();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	CHECK(child > 0);
	return child;
}

static void end_unseen(pid_t child)
{
	CHECK(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child);
}

static void use_up_pool(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE;

	while (getenv("CONTRACT_WITH_US") && mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
		;
}

#endif
