/* Segments that are locked, changed in part and detached, again and again, each elsewhere:
   other memory between them is not taken for locked. The answers are printed, to be compared
   with a plain run. */
#include "contract.h"
#include <sys/shm.h>

#define SIZE (2 * MIB)
#define TIMES 80

static void look(const char *what, char *at)
{
	errno = 0;
	printf("%s %d\n", what, madvise(at + 4096, 8192, MADV_DONTNEED) ? errno : 0);
}

/* Its place is not used again. */
static void lock_and_leave(void)
{
	int segment = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
	char *at = shmat(segment, NULL, 0);

	CHECK(segment >= 0 && at != (void *)-1);
	CHECK(!shmctl(segment, IPC_RMID, NULL));
	memset(at, 7, SIZE);
	CHECK(!mlock(at + MIB, 8192));
	CHECK(!mprotect(at + 4096, 4096, PROT_READ));
	CHECK(!shmdt(at));
	CHECK(mmap(at, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == at);
}

int main(void)
{
	char *between = NULL;
	int i;

	for (i = 0; i < TIMES; i++) {
		if (i == TIMES / 2) {
			between = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			CHECK(between != MAP_FAILED);
			memset(between, 5, 2 * SIZE);
		}
		lock_and_leave();
	}
	look("what was never locked:", between);
	CHECK(!mlock(between + 4096, 4096));
	look("what is locked now:", between);
	return 0;
}
