/* Calls on a part of shared memory when there is no address space left, which need none: all
   of them are done. Argument: whether a segment, else a mapping. */
#include "contract.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/shm.h>

#define SIZE (8 * MIB)

static void leave_no_space(void)
{
	struct rlimit limit;
	char text[64] = "";
	int file = open("/proc/self/statm", O_RDONLY);

	CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0 && !close(file));
	CHECK(!getrlimit(RLIMIT_AS, &limit));
	limit.rlim_cur = strtoul(text, NULL, 10) * 4096;
	CHECK(!setrlimit(RLIMIT_AS, &limit));
}

int main(int argc, char **argv)
{
	int segment = number(argc, argv, 1, 0), writes = PROT_READ | PROT_WRITE, id = -1, i;
	struct rlimit before, after;
	char *at[2];

	for (i = 0; i < 2; i++) {
		if (segment) {
			CHECK((id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600)) >= 0);
			at[i] = shmat(id, NULL, 0);
			CHECK(!shmctl(id, IPC_RMID, NULL));
		} else
			at[i] = mmap(NULL, SIZE, writes, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(at[i] != MAP_FAILED);
		memset(at[i], 7, SIZE);
	}
	leave_no_space();
	CHECK(!getrlimit(RLIMIT_AS, &before));
	CHECK(!mprotect(at[0] + MIB, 4096, PROT_READ));
	CHECK(mmap(at[1] + 4096, 8192, writes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at[1] + 4096);
	CHECK(!getrlimit(RLIMIT_AS, &after));
	CHECK(before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max);
	CHECK(at[0][MIB] == 7 && at[0][SIZE - 1] == 7);
	CHECK(at[1][0] == 7 && at[1][4096] == 0 && at[1][12288] == 7 && at[1][SIZE - 1] == 7);
	CHECK(mmap(NULL, 4096, writes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
	right();
}
