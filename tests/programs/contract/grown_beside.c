/* mremap of a large mapping and a small one that goes on where it ends, in the same file in
   memory or after a move by its number: the kernel has them as one. What each call answers
   is printed, to be compared with a plain run. */
#include "contract.h"
#include <sys/syscall.h>

#define LARGE (4 * MIB)
#define SMALL ((size_t)4096)
#define RW (PROT_READ | PROT_WRITE)

static void say(const char *what, void *result)
{
	printf("%-44s %s\n", what, result == MAP_FAILED ? strerror(errno) : "done");
	errno = 0;
}

/* Where nothing is, nor near it. */
static char *place(size_t size)
{
	char *at = mmap(NULL, size + 4 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	CHECK(!munmap(at, size + 4 * MIB));
	return (char *)(((size_t)at + 2 * MIB) & ~(2 * MIB - 1));
}

static char *both(int file, int order)
{
	char *at = place(2 * LARGE);
	int i;

	for (i = 0; i < 2; i++)
		if (i == order)
			CHECK(mmap(at, LARGE, RW, MAP_SHARED | MAP_FIXED, file, 0) == at);
		else
			CHECK(mmap(at + LARGE, SMALL, RW, MAP_SHARED | MAP_FIXED, file, (off_t)LARGE) == at + LARGE);
	memset(at, 7, LARGE + SMALL);
	return at;
}

static void in_file(int file, int order)
{
	char *at = both(file, order), *now, *to;

	now = mremap(at, LARGE + SMALL, LARGE + 4 * SMALL, MREMAP_MAYMOVE);
	say("a file grows", now);
	now = now == MAP_FAILED ? at : now;
	CHECK(now[0] == 7 && now[LARGE] == 7);
	munmap(now, LARGE + 4 * SMALL);
	at = both(file, order);
	to = place(LARGE);
	now = mremap(at, LARGE + SMALL, LARGE + 2 * SMALL, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	say("a file grows elsewhere", now);
	now = now == MAP_FAILED ? at : now;
	CHECK(now[0] == 7 && now[LARGE] == 7);
	munmap(now, LARGE + 2 * SMALL);
	at = both(file, order);
	now = (char *)syscall(SYS_mremap, at, LARGE + SMALL, LARGE + 4 * SMALL, MREMAP_MAYMOVE, NULL);
	say("a file grows by number", now);
	now = now == MAP_FAILED ? at : now;
	CHECK(now[0] == 7 && now[LARGE] == 7);
	munmap(now, LARGE + 4 * SMALL);
	at = both(file, order);
	CHECK(!madvise(at + LARGE, SMALL, MADV_NOHUGEPAGE));
	say("what the program wants apart",
	    mremap(at, LARGE + SMALL, LARGE + 4 * SMALL, MREMAP_MAYMOVE));
	CHECK(!madvise(at + LARGE, SMALL, MADV_DONTFORK));
	say("and for itself", mremap(at, LARGE + SMALL, LARGE + 4 * SMALL, MREMAP_MAYMOVE));
	CHECK(at[0] == 7 && at[LARGE] == 7);
	munmap(at, LARGE + SMALL);
}

static void by_number(void)
{
	char *at = mmap(place(LARGE), LARGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), *now, *new;
	char *to = place(4 * LARGE);

	CHECK(at != MAP_FAILED);
	now = (char *)syscall(SYS_mremap, at, LARGE, 2 * LARGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	CHECK(now == to);
	memset(now, 7, 2 * LARGE);
	new = mmap(now + MIB, 65536, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(new == now + MIB);
	memset(new, 8, 65536);
	now = mremap(to, 2 * LARGE, 2 * LARGE + 65536, MREMAP_MAYMOVE);
	say("what was moved by its number is whole", now);
	now = now == MAP_FAILED ? to : now;
	CHECK(now[0] == 7 && now[MIB] == 8 && now[2 * LARGE - 1] == 7);
}

int main(void)
{
	int file, order;

	setvbuf(stdout, NULL, _IONBF, 0);
	file = memfd_create("grown", 0);
	CHECK(file >= 0 && !ftruncate(file, (off_t)(2 * LARGE)));
	errno = 0;
	for (order = 0; order < 2; order++)
		in_file(file, order);
	by_number();
	return 0;
}
