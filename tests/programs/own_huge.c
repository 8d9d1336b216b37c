/* Requests huge pages, and base pages if that fails, as servers do.

   own_huge shared|private|segment MIB [TIMES] */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

static char *segment(size_t n, int flags)
{
	int id = shmget(IPC_PRIVATE, n, IPC_CREAT | 0600 | flags);
	char *p = id < 0 ? MAP_FAILED : shmat(id, NULL, 0);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return p;
}

static char *memory(const char *kind, size_t n, int huge)
{
	int type = strcmp(kind, "private") ? MAP_SHARED : MAP_PRIVATE;

	if (!strcmp(kind, "segment"))
		return segment(n, huge ? SHM_HUGETLB : 0);
	return mmap(NULL, n, PROT_READ | PROT_WRITE,
		    type | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0), -1, 0);
}

int main(int argc, char **argv)
{
	size_t n = strtoull(argv[2], NULL, 0) << 20;
	int i, times = argc > 3 ? atoi(argv[3]) : 1;
	char *all[16];

	/* All are mapped before any is touched. */
	for (i = 0; i < times; i++) {
		all[i] = memory(argv[1], n, 1);
		printf("%s ", all[i] != MAP_FAILED ? "huge" : strerrorname_np(errno));
		if (all[i] == MAP_FAILED)
			all[i] = memory(argv[1], n, 0);
		if (all[i] == MAP_FAILED)
			return 2;
	}
	fflush(stdout);
	for (i = 0; i < times; i++)
		memset(all[i], 1, n);
	puts("ok");
	return 0;
}
