/* A library that watches madvise(2), as those of MPI do, and a program that frees a large block:
   prints whether the library learnt that the pages go. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEN ((size_t)64 << 20)

#ifdef LIBRARY
volatile uintptr_t watched;
volatile size_t told;

int madvise(void *addr, size_t len, int advice)
{
	uintptr_t at = (uintptr_t)addr;

	if ((advice == MADV_REMOVE || advice == MADV_DONTNEED) && at < watched + LEN && watched < at + len)
		told += len;
	return syscall(SYS_madvise, addr, len, advice);
}
#else
extern volatile uintptr_t watched;
extern volatile size_t told;

int main(void)
{
	time_t end = time(NULL) + 20;
	char *block = malloc(LEN);

	memset(block, 1, LEN);
	watched = (uintptr_t)block;
	free(block);
	while (told < LEN && time(NULL) < end) {
		usleep(10000);
		free(malloc(100));
	}
	puts(told >= LEN ? "told" : "not told");
	return 0;
}
#endif
