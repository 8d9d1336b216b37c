/* -DRIVAL: another library of this kind, as far as it matters: what it asks for
   when it starts, and a shmget of its own. Else a program that has it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <unistd.h>

long gethugepagesize(void);
int hugetlbfs_unlinked_fd_for_size(long size);
const char *hugetlbfs_find_path_for_size(long size);

#ifdef RIVAL
long gethugepagesize(void)
{
	return 2 << 20;
}

int hugetlbfs_unlinked_fd_for_size(long size)
{
	(void)size;
	return dup(0);
}

const char *hugetlbfs_find_path_for_size(long size)
{
	(void)size;
	return "/tmp";
}

int shmget(key_t key, size_t size, int flags)
{
	(void)key, (void)size, (void)flags;
	fputs("the rival's shmget\n", stderr);
	exit(5);
}

__attribute__((constructor)) static void begin(void)
{
	if (!getenv("HUGETLB_ELFMAP"))
		return;
	if (hugetlbfs_find_path_for_size(2 << 20) || hugetlbfs_unlinked_fd_for_size(2 << 20) >= 0) {
		fputs("the rival moves the segments\n", stderr);
		exit(4);
	}
}
#else
static char zero[8 << 20];

int main(void)
{
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
	char *shared = shmat(id, NULL, 0);

	shmctl(id, IPC_RMID, NULL);
	memset(shared, 1, 4096);
	memset(zero, 1, sizeof(zero));
	puts(gethugepagesize() > 0 && shared[4095] == zero[sizeof(zero) - 1] ? "ok" : "wrong");
	return 0;
}
#endif
