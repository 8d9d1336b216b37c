/* A library that begins before the program has mapped, protected and advised parts of the
   program's variables, as a sanitizer or a collector does: they stay as it has made them.
   Argument: 0 for a page that must not be touched, 1 for one that is only read, 2 for
   memory that is shared with children, 3 for a page that children have not got. */
#include "contract.h"

enum { SIZE = 8 << 20, AT = 3 << 20 };

#ifdef LIBRARY
extern char variables[4][SIZE];

__attribute__((constructor)) static void change(void)
{
	int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, i;

	for (i = 0; i < 4; i++)
		memset(variables[i], 7, SIZE);
	CHECK(!mprotect(variables[0] + AT, 4096, PROT_NONE));
	CHECK(!mprotect(variables[1] + AT, 4096, PROT_READ));
	CHECK(mmap(variables[2], SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED);
	CHECK(!madvise(variables[3] + AT, 4096, MADV_DONTFORK));
}
#else
char variables[4][SIZE] __attribute__((aligned(2 << 20)));

int main(int argc, char **argv)
{
	int which = number(argc, argv, 1, 0), status = 0;
	volatile char *at = variables[which] + AT;
	pid_t child = fork();

	CHECK(child >= 0);
	if (!child) {
		*at = 42;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (which != 2)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	else
		CHECK(!status && *at == 42);
	if (which == 1 || which == 3)
		CHECK(*at == 7);
	right();
}
#endif
