/* What is drawn, who draws it, and how a failure is told: with the seed, the
   thread, the operation's number and name. */
#ifndef DRAW_H
#define DRAW_H
#include "../contract.h"
#include "../ring.h"
#include <setjmp.h>
#include <stdint.h>

#define THREADS 9
#define BLOCKS 96
#define SHARES 3

struct block {
	unsigned char *at;
	size_t size;
	uint64_t id;
};

enum kind { SEGMENT, ANONYMOUS, MEMORY_FILE, HUGE_PAGES, KINDS };

struct share {
	unsigned char *at;
	size_t size;
	uint64_t id;
	enum kind kind;
	int handle; /* of a segment, or of a file */
};

/* One thread and all that it has. Nobody else touches it. */
struct self {
	int number;
	uint64_t drawn;
	volatile long operation;
	const char *volatile doing;
	struct block block[BLOCKS];
	int blocks;
	size_t bytes;
	struct share share[SHARES];
	int shares;
	/* A fault that is meant. */
	volatile int expects;
	sigjmp_buf back;
	/* No fork in a handler just now: it could not be done plainly either. */
	volatile sig_atomic_t keeps_whole;
	/* Signals, counted three times. */
	volatile long *in_heap, *in_page;
	void *alternate;
	struct ring ring;
	struct block *in_ring;
	volatile int ended;
};

/* What an episode is like; drawn at its begin, then it stays. */
static struct {
	uint64_t seed;
	int threads, pins, single;
	/* Whether a fork may find no page for what a device is writing to: that of an
	   ordinary user with threads, without userfaultfd(2) (libhugetlbfs(7)). */
	int forks_may_fail;
	size_t heap; /* bytes for each thread */
	double end;
	const char *plugin, *program;
	int file, direct, zero;
} episode;

static struct self selves[THREADS];
static volatile long in_bss[THREADS];
static __thread struct self *me;

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* Below `limit`. */
static uint64_t draw(uint64_t limit)
{
	return mix(me->drawn++) % limit;
}

static int chance(int in)
{
	return draw((uint64_t)in) == 0;
}

/* Small ones often, large ones seldom. */
static size_t draw_size(size_t most)
{
	size_t size = (size_t)1 << draw(24);

	size += draw(size);
	return size < most ? size : 1 + draw(most);
}

__attribute__((noreturn, format(printf, 1, 2))) static void differ(const char *format, ...)
{
	int error = errno;
	char text[300];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	if (!me)
		fail("seed %llu: %s (errno %d)", (unsigned long long)episode.seed, text, error);
	fail("seed %llu, thread %d, operation %ld, %s: %s (errno %d)", (unsigned long long)episode.seed, me->number,
	     me->operation, me->doing, text, error);
}

#define MUST(what) ((what) ? (void)0 : differ("line %d: %s", __LINE__, #what))

/* Runs a statement that must fault. */
#define MUST_FAULT(statement)                                                                                          \
	do {                                                                                                           \
		me->expects = 1;                                                                                       \
		if (!sigsetjmp(me->back, 1)) {                                                                         \
			statement;                                                                                     \
			me->expects = 0;                                                                               \
			differ("line %d: no fault: %s", __LINE__, #statement);                                         \
		}                                                                                                      \
		me->expects = 0;                                                                                       \
	} while (0)

#endif
