/* Fills three kinds of memory with the names of their pages, and dumps core. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#define PAGE ((size_t)4096)
#define LEN ((size_t)4 << 20)

static void name(char *at, const char *kind)
{
	size_t page;

	for (page = 0; page < LEN / PAGE; page++)
		snprintf(at + page * PAGE, PAGE, "<%s page %zu>", kind, page);
}

int main(void)
{
	void *mapped = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int id = shmget(IPC_PRIVATE, LEN, IPC_CREAT | 0600);
	void *segment = shmat(id, NULL, 0);
	void *block = aligned_alloc(PAGE, LEN);

	shmctl(id, IPC_RMID, NULL);
	if (mapped == MAP_FAILED || segment == (void *)-1 || !block) {
		perror("memory");
		return 1;
	}
	name(mapped, "mapped");
	name(segment, "segment");
	name(block, "block");
	abort();
}
