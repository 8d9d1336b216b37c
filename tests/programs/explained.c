/* Takes and touches memory of one kind and keeps it until the end. Exits with 0 if it got all.

   explained heap|mmap|sysv MiB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>

static char *sysv(size_t len)
{
	int id = shmget(IPC_PRIVATE, len, 0600 | IPC_CREAT);
	char *at = shmat(id, NULL, 0);

	shmctl(id, IPC_RMID, NULL);
	return at == (void *)-1 ? NULL : at;
}

static char *heap(size_t len)
{
	size_t block = 100000, n = len / block, i;
	char *last = NULL;

	for (i = 0; i < n; i++) {
		last = malloc(block);
		if (!last)
			return NULL;
		memset(last, 1, block);
	}
	return last;
}

static char *shared(size_t len)
{
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

int main(int argc, char **argv)
{
	size_t len = argc > 2 ? strtoul(argv[2], NULL, 10) << 20 : 0;
	const char *kind = argc > 1 ? argv[1] : "";
	char *at = NULL;

	if (!strcmp(kind, "heap"))
		at = heap(len);
	else if ((at = !strcmp(kind, "sysv") ? sysv(len) : shared(len)))
		memset(at, 1, len);
	if (!at)
		perror(kind);
	return !at;
}
