/* mlockall(2), and which shared memory is locked then, told by what madvise(2) answers; a
   part that is unlocked stays so. The answers are printed, to be compared with a plain run. */
#include "contract.h"
#include "mapping_flags.h"
#include <sys/shm.h>
#include <sys/syscall.h>

#define SIZE (4 * MIB)

static char *share(void)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return memset(at, 7, SIZE);
}

static void look(const char *what, char *at)
{
	errno = 0;
	printf("%-24s %s\n", what, madvise(at, SIZE, MADV_DONTNEED) ? strerror(errno) : "is not locked");
	CHECK(!munlock(at + MIB, MIB));
	errno = 0;
	printf("%-24s %s\n", "a part that is unlocked",
	       madvise(at + MIB + 4096, 4096, MADV_DONTNEED) ? strerror(errno) : "is not locked");
	printf("%-24s %s\n", "what is behind it",
	       madvise(at + 3 * MIB, 4096, MADV_DONTNEED) ? strerror(errno) : "is not locked");
	/* By now it is ordinary memory in any case. */
	CHECK(!mprotect(at + 4096, 4096, PROT_READ));
	printf("closed to writing: %d %d %d %d\n", has_flag(" lo", at), has_flag(" lo", at + 4096), has_flag(" lo", at + MIB),
	       has_flag(" lo", at + 3 * MIB));
	CHECK(at[0] == 7 && at[4096] == 7 && at[SIZE - 1] == 7);
	CHECK(!munmap(at, SIZE));
}

static void lock(int by_number, int flags)
{
	CHECK(!(by_number ? (int)syscall(SYS_mlockall, flags) : mlockall(flags)));
}

static void all(int by_number, int flags)
{
	char *before = share();

	printf("mlockall(%d)\n", flags);
	lock(by_number, flags);
	look("what was there", before);
	look("what comes later", share());
	before = share();
	lock(by_number, MCL_CURRENT);
	look("what was there by then", before);
	look("what comes after that", share());
	before = share();
	CHECK(!munlockall());
	look("when nothing is", before);
	look("nor later", share());
}

int main(void)
{
	int by_number, flags;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (by_number = 0; by_number < 2; by_number++)
		for (flags = 1; flags <= (MCL_CURRENT | MCL_FUTURE); flags++)
			all(by_number, flags);
	return 0;
}
