/* With LIBRARY: a library that intercepts madvise(2), as MPI libraries do, and adds up the
   lengths of the calls that drop pages of a watched block. Otherwise: a program that frees a large
   block and prints whether the library has seen all of its pages dropped. */
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
volatile size_t dropped_bytes;

int madvise(void *addr, size_t len, int advice)
{
	uintptr_t at = (uintptr_t)addr;

	if ((advice == MADV_REMOVE || advice == MADV_DONTNEED) && at < watched + LEN &&
	    watched < at + len)
		dropped_bytes += len;
	return syscall(SYS_madvise, addr, len, advice);
}
#else
extern volatile uintptr_t watched;
extern volatile size_t dropped_bytes;

int main(void)
{
	time_t end = time(NULL) + 20;
	char *block = malloc(LEN);

	memset(block, 1, LEN);
	watched = (uintptr_t)block;
	free(block);
	while (dropped_bytes < LEN && time(NULL) < end) {
		usleep(10000);
		free(malloc(100));
	}
	puts(dropped_bytes >= LEN ? "dropped" : "not dropped");
	return 0;
}
#endif
