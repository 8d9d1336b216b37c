/* Our libraries don't change another process's System V segment. `make KEY COMMAND...` creates one,
   runs the command with only PATH set and checks every byte; `use KEY` attaches and checks it;
   `confine COMMAND...` runs a command with a memory policy and without MADV_POPULATE_WRITE. */
#include "contract.h"
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include "../filter.h"

#define SIZE (20 * MIB + 4096)

static void confine(char **command)
{
	/* madvise(MADV_POPULATE_WRITE) returns EINVAL. */
	struct filter filter[] = {
	    {0x20, 0, 0, 0}, {0x15, 0, 3, SYS_madvise}, {0x20, 0, 0, 32}, {0x15, 0, 1, 23}, {0x06, 0, 0, 0x50000 | EINVAL},
	    {0x06, 0, 0, 0x7fff0000},
	};
	struct filters all = {sizeof filter / sizeof *filter, filter};
	unsigned long nodes = 1;

	/* A kernel without NUMA has no policies. */
	if (syscall(SYS_set_mempolicy, 3, &nodes, 64L))
		CHECK(errno == ENOSYS);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, 2, &all));
	execvp(command[0], command);
	fail("exec: errno %d", errno);
}

static void check_bytes(const char *who, const char *at)
{
	size_t i, bad = 0;

	for (i = 0; i < SIZE; i++)
		bad += at[i] != 0x77;
	if (bad)
		fail("%s: %zu bytes of the segment were changed", who, bad);
}

static void use(key_t key)
{
	int id = shmget(key, SIZE, IPC_CREAT | 0600);
	char *at;

	CHECK(id >= 0);
	at = shmat(id, NULL, 0);
	CHECK(at != (void *)-1);
	check_bytes("user", at);
	CHECK(!shmdt(at));
	_exit(0);
}

int main(int argc, char **argv)
{
	char *environment[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	struct shmid_ds about;
	key_t key;
	char *at;
	int id;
	pid_t child;

	CHECK(argc > 2);
	if (!strcmp(argv[1], "confine"))
		confine(argv + 2);
	key = (key_t)atol(argv[2]);
	if (!strcmp(argv[1], "use"))
		use(key);
	id = shmget(key, SIZE, IPC_CREAT | IPC_EXCL | 0600);
	CHECK(id >= 0);
	at = shmat(id, NULL, 0);
	CHECK(at != (void *)-1);
	memset(at, 0x77, SIZE);
	if (!(child = fork())) {
		execvpe(argv[3], argv + 3, environment);
		_exit(127);
	}
	CHECK(waitpid(child, &id, 0) == child);
	if (id)
		printf("the command's wait status is %#x\n", (unsigned)id);
	id = shmget(key, 0, 0);
	if (id < 0 || shmctl(id, IPC_STAT, &about) || about.shm_perm.mode & 01000)
		fail("the segment was removed");
	shmctl(id, IPC_RMID, NULL);
	check_bytes("maker", at);
	pass();
}
