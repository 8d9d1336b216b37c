/* Shared memory of both kinds, in a thread whose stack is as small as may be, also where
   huge pages cannot be had. */
#include "contract.h"
#include <sys/ipc.h>
#include <sys/shm.h>

static void *share(void *argument)
{
	int id = shmget(IPC_PRIVATE, 4 * MIB, IPC_CREAT | 0600);
	char *segment = shmat(id, NULL, 0), *mapping;

	CHECK(segment != (char *)-1);
	memset(segment, 1, 4 * MIB);
	CHECK(!mprotect(segment, 4096, PROT_READ));
	CHECK(!shmdt(segment));
	CHECK(!shmctl(id, IPC_RMID, NULL));
	mapping = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	memset(mapping, 1, 4 * MIB);
	CHECK(!mprotect(mapping, 4096, PROT_READ));
	CHECK(!munmap(mapping, 4 * MIB));
	return argument;
}

int main(void)
{
	const size_t size = 16384;
	char *stack = mmap(NULL, 5 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attributes;
	pthread_t thread;

	CHECK(stack != MAP_FAILED);
	CHECK(!mprotect(stack + 4 * size, size, PROT_READ | PROT_WRITE));
	pthread_attr_init(&attributes);
	CHECK(!pthread_attr_setstack(&attributes, stack + 4 * size, size));
	CHECK(!pthread_create(&thread, &attributes, share, NULL));
	pthread_join(thread, NULL);
	right();
}
