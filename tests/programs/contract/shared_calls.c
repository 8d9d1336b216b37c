/* What the kernel answers to calls on shared anonymous memory, printed, to be
   compared with a plain run; after each, what must be in the memory is there. */
#include "contract.h"
#include <sys/syscall.h>

#define SIZE (4 * MIB)

static void say(const char *what, long result)
{
	printf("%-36s %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
	errno = 0;
}

static char *share_of(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 7, size);
	return at;
}

static char *share(void)
{
	return share_of(SIZE);
}

/* A child that does nothing, or writes somewhere: whether it lives. */
static void child(const char *what, volatile char *write_to)
{
	int status;
	pid_t child = fork();

	if (!child) {
		if (write_to)
			*write_to = 8;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	printf("%-36s %s\n", what, status ? "dies" : "lives");
}

static void alias(int after_fork)
{
	char *at = share(), *other;

	if (after_fork)
		child("a child", at + 1);
	other = mremap(at, 0, SIZE, MREMAP_MAYMOVE);
	say("mremap(at, 0, size)", other == MAP_FAILED ? -1 : 0);
	if (other != MAP_FAILED) {
		other[5] = 9;
		CHECK(at[5] == 9 && other[6] == 7);
		say("munmap of the alias", munmap(other, SIZE));
	}
	other = mremap(at + 4096, 0, 8192, MREMAP_MAYMOVE);
	say("mremap(at + 4096, 0, 8192)", other == MAP_FAILED ? -1 : 0);
	if (other != MAP_FAILED) {
		other[5] = 9;
		CHECK(at[4096 + 5] == 9);
		say("munmap of it", munmap(other, 8192));
	}
	say("munmap", munmap(at, SIZE));
}

static void grow(int after_fork)
{
	char *at = share(), *more;

	if (after_fork)
		child("a child", at + 1);
	more = mremap(at, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	say("mremap to twice the size", more == MAP_FAILED ? -1 : 0);
	if (more == MAP_FAILED)
		more = at;
	CHECK(more[1] == (after_fork ? 8 : 7) && more[SIZE - 1] == 7);
	at = mremap(more, SIZE, SIZE - 4096, MREMAP_MAYMOVE);
	say("mremap to 4 KiB less", at == MAP_FAILED ? -1 : 0);
	CHECK(at[SIZE - 4097] == 7);
	say("munmap", munmap(at, SIZE - 4096));
}

static void close_page(int after_fork)
{
	char *at = share();

	if (after_fork)
		child("a child", at + 1);
	say("mprotect of 4 KiB, to be read", mprotect(at + 8192, 4096, PROT_READ));
	child("a write there", at + 8192);
	child("a write beside it", at + 12288);
	CHECK(at[8192] == 7 && at[12288] == 8);
	say("mprotect of 4 KiB, closed", mprotect(at + 8192, 4096, PROT_NONE));
	child("a write there", at + 8192);
	say("mprotect back", mprotect(at + 8192, 4096, PROT_READ | PROT_WRITE));
	child("a write there", at + 8192);
	CHECK(at[8192] == 8);
	say("munmap of 4 KiB", munmap(at + 16384, 4096));
	child("a write there", at + 16384);
	child("a write beside it", at + 20480);
	CHECK(at[20480] == 8 && at[20481] == 7);
	say("munmap", munmap(at, SIZE));
}

static void advise(int after_fork)
{
	static const struct {
		int value;
		const char *name;
	} ADVICE[] = {
	    {0, "NORMAL"}, {1, "RANDOM"}, {2, "SEQUENTIAL"}, {3, "WILLNEED"}, {4, "DONTNEED"}, {8, "FREE"},
	    {9, "REMOVE"}, {10, "DONTFORK"}, {11, "DOFORK"}, {14, "HUGEPAGE"}, {15, "NOHUGEPAGE"},
	    {16, "DONTDUMP"}, {17, "DODUMP"}, {18, "WIPEONFORK"}, {20, "COLD"}, {21, "PAGEOUT"},
	    {22, "POPULATE_READ"}, {23, "POPULATE_WRITE"}, {99, "of no meaning"},
	};
	char *at = share();
	size_t i;

	if (after_fork)
		child("a child", at + 1);
	for (i = 0; i < sizeof ADVICE / sizeof *ADVICE; i++) {
		char name[64];

		snprintf(name, sizeof name, "madvise %s of 4 KiB", ADVICE[i].name);
		say(name, madvise(at + 8192, 4096, ADVICE[i].value));
		printf("there is a %d, beside it a %d\n", at[8192], at[12288]);
		at[8192] = 7;
	}
	say("posix_madvise(DONTNEED) of 4 KiB", posix_madvise(at + 8192, 4096, POSIX_MADV_DONTNEED));
	say("mlock of 5000 bytes", mlock(at + 100, 5000));
	say("munlock of 5000 bytes", munlock(at + 100, 5000));
	say("msync of 4 KiB", msync(at + 4096, 4096, MS_SYNC));
	say("munmap", munmap(at, SIZE));
}

/* Memory that ends within a huge page, advised as a whole. */
static void advise_all(int after_fork)
{
	static const int ADVICE[] = {10, 11, 14, 15, 16, 17, 18, 19, 23, 4, 9};
	size_t size = 3 * MIB, i;
	char *at = share_of(size);

	if (after_fork)
		child("a child", at + 1);
	for (i = 0; i < sizeof ADVICE / sizeof *ADVICE; i++) {
		printf("advice %d ", ADVICE[i]);
		say("of all of 3 MiB", madvise(at, size, ADVICE[i]));
		child("a write there", at + 8192);
	}
	say("munmap", munmap(at, size));
}

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	int after_fork;

	setvbuf(stdout, NULL, _IONBF, 0);
#ifdef SYS_mmap
	say("mmap with an offset of 1",
	    syscall(SYS_mmap, NULL, SIZE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 1L) < 0 ? -1 : 0);
#endif
	say("mmap with an offset of 100",
	    mmap(NULL, SIZE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 100) == MAP_FAILED ? -1 : 0);
	say("mmap with an offset of a page",
	    mmap(NULL, SIZE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, page) == MAP_FAILED ? -1 : 0);
	say("mmap of nothing", mmap(NULL, 0, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
	for (after_fork = 0; after_fork < 2; after_fork++) {
		printf("%s\n", after_fork ? "after a fork" : "before a fork");
		alias(after_fork);
		grow(after_fork);
		close_page(after_fork);
		advise(after_fork);
		advise_all(after_fork);
	}
	return 0;
}
