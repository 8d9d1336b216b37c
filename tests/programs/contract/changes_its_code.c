/* A library that changes a part of its own code, as one does that patches its functions:
   a few base pages are made writable, in the middle of some megabytes. Argument: whether
   by the number of the call. */
#include "contract.h"
#include <sys/syscall.h>

int change(int by_number);

#ifdef LIBRARY
__asm__(".text\n"
	".balign 65536\n"
	"code_begins:\n"
	".fill 0x600000, 1, 0x5a\n"
	".previous\n");

static int protect(void *at, size_t length, int access, int by_number)
{
	if (by_number)
		return (int)syscall(SYS_mprotect, at, length, access);
	return mprotect(at, length, access);
}

extern char code_begins[] __attribute__((visibility("hidden")));

int change(int by_number)
{
	char *at = code_begins + 3 * MIB;
	int i;

	for (i = 0; i < 2; i++) {
		if (protect(at, 65536, PROT_READ | PROT_WRITE, by_number))
			return -errno;
		*(volatile char *)at = (char)i;
		if (protect(at, 65536, PROT_READ | PROT_EXEC, by_number))
			return -errno;
		if (*(volatile char *)at != i || at[1] != 0x5a || at[-1] != 0x5a || at[65536] != 0x5a)
			return 1;
	}
	return 0;
}
#else
int main(int argc, char **argv)
{
	int result = change(number(argc, argv, 1, 0));

	if (result)
		fail("the library's code could not be changed: %d", result);
	right();
}
#endif
