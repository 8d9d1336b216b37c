/* Children of every kind: each finds what its parent had, writes to it, lets the
   kernel write to it, and ends. */
#ifndef FORKS_H
#define FORKS_H
#include "kernel.h"
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>

extern char **environ;
extern pid_t _Fork(void) __attribute__((weak));

enum way { FORK, VFORK, SPAWN, CLONE, PLAIN_FORK, WAYS };

/* What opens descriptors, and what forbids to. */
static pthread_mutex_t descriptors = PTHREAD_MUTEX_INITIALIZER;

static void take_descriptors(void)
{
	me->keeps_whole++;
	MUST(!pthread_mutex_lock(&descriptors));
}

static void leave_descriptors(void)
{
	MUST(!pthread_mutex_unlock(&descriptors));
	me->keeps_whole--;
}

static void compare_counts(const char *who)
{
	long page = *me->in_page;

	if (*me->in_heap != page || in_bss[me->number] != page)
		differ("%s: %ld signals, %ld in the heap, %ld in bss", who, page, *me->in_heap, in_bss[me->number]);
}

/* What a child does. It may allocate where it came by `fork`. */
static void live(int allocates)
{
	int i;

	me->doing = "a child";
	compare_counts("child");
	check_all(61);
	for (i = 0; i < me->blocks; i += 3) {
		struct block *block = &me->block[i];
		size_t length = block->size < MIB ? block->size : MIB;

		if (block == me->in_ring)
			continue;
		if (read(episode.zero, block->at, length) != (ssize_t)length)
			differ("a read of %zu bytes into a block of the child fails", length);
		MUST(!block->at[0] && !block->at[length - 1]);
		fill(block->at, block->id, 0, length);
	}
	for (i = 0; i < me->blocks; i++) {
		struct block *block = &me->block[i];
		size_t k;

		if (block == me->in_ring)
			continue;
		for (k = 0; k + 8 <= block->size; k += 4096)
			block->at[k] ^= 1;
		for (k = 0; k + 8 <= block->size; k += 4096)
			block->at[k] ^= 1;
		compare(block->at, block->id, 0, block->size, 127);
	}
	for (i = 0; allocates && i < 20; i++) {
		make_block();
		free_block();
	}
	for (i = 0; i < me->shares; i++)
		if (me->share[i].kind != HUGE_PAGES)
			me->share[i].at[8 + (size_t)me->number]++;
	if (allocates && chance(6)) {
		pid_t grandchild = fork();

		if (!grandchild) {
			check_all(61);
			_exit(42);
		}
		waitpid(grandchild, &i, 0);
		MUST(i == 42 << 8);
	}
	_exit(42);
}

static pid_t by_clone(void)
{
#ifdef __s390x__
	return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

static pid_t spawn(void)
{
	char *words[] = {(char *)episode.program, (char *)"--nothing", NULL};
	pid_t child = -1;
	int error;

	take_descriptors();
	error = posix_spawn(&child, episode.program, NULL, NULL, words, environ);
	leave_descriptors();
	if (error)
		differ("posix_spawn gives %d", error);
	return child;
}

static pid_t by(enum way way)
{
	pid_t child;

	switch (way) {
	case FORK:
		me->keeps_whole++;
		child = fork();
		if (!child)
			live(1);
		me->keeps_whole--;
		return child;
	case VFORK:
		child = vfork();
		if (!child)
			_exit(42);
		return child;
	case SPAWN:
		return spawn();
	case PLAIN_FORK:
		if (_Fork) {
			child = _Fork();
			if (!child)
				live(0);
			return child;
		}
		/* fall through */
	default:
		child = by_clone();
		if (!child)
			live(0);
		return child;
	}
}

/* Whether there was a child. */
static int await(pid_t child)
{
	int status;

	if (child < 0 && errno == ENOMEM && episode.forks_may_fail)
		return 0;
	if (child < 0)
		differ("there is no child");
	while (waitpid(child, &status, 0) < 0)
		MUST(errno == EINTR);
	if (status != 42 << 8)
		differ("the child's status is %#x", (unsigned)status);
	return 1;
}

static void fork_any(void)
{
	enum way way = (enum way)draw(WAYS);
	unsigned char before[SHARES];
	int i, lives;

	for (i = 0; i < me->shares; i++)
		before[i] = me->share[i].at[8 + (size_t)me->number];
	lives = await(by(way));
	for (i = 0; i < me->shares; i++) {
		int writes = lives && way != VFORK && way != SPAWN && me->share[i].kind != HUGE_PAGES;

		if (me->share[i].at[8 + (size_t)me->number] != (unsigned char)(before[i] + writes))
			differ("what a child wrote to shared memory of kind %d is not there", (int)me->share[i].kind);
	}
	check_all(997);
}

/* A part that is closed stays so in a child. */
static void fork_closed(void)
{
	unsigned char *from;
	size_t length;
	struct block *block = some_pages(&from, &length);
	pid_t child;

	if (!block || episode.pins)
		return;
	MUST(!mprotect(from, length, PROT_NONE));
	child = by_clone();
	if (!child) {
		me->doing = "a child with a closed page";
		MUST_FAULT(*(volatile unsigned char *)from);
		from[-1] ^= 0;
		_exit(42);
	}
	await(child);
	MUST_FAULT(*(volatile unsigned char *)from);
	MUST(!mprotect(from, length, PROT_READ | PROT_WRITE));
	check(block);
}

/* Forks without a descriptor to be had. */
static void fork_without_descriptors(void)
{
	struct rlimit limit, none;
	pid_t child;
	int error;

	take_descriptors();
	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	MUST(!setrlimit(RLIMIT_NOFILE, &none));
	child = by(chance(2) ? FORK : PLAIN_FORK);
	error = errno;
	MUST(!setrlimit(RLIMIT_NOFILE, &limit));
	leave_descriptors();
	errno = error;
	await(child);
}

/* More than any plain run of this program has, less than anybody may reserve. */
static void limit_memory(void)
{
	struct rlimit limit, less;
	int which = chance(2) ? RLIMIT_AS : RLIMIT_DATA, i;

	take_descriptors();
	MUST(!getrlimit(which, &limit));
	less = limit;
	less.rlim_cur = (rlim_t)4 << 30;
	MUST(!setrlimit(which, &less));
	for (i = 0; i < 10; i++)
		make_block();
	MUST(!setrlimit(which, &limit));
	leave_descriptors();
}

#endif
