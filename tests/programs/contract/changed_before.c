/* The constructor of a library maps, protects and advises parts of the program's bss before ours
   runs, as a sanitizer or a collector does. These must stay: a page with PROT_NONE, a read-only
   page, shared memory, a page that a child doesn't inherit. */
#include "contract.h"

enum { SIZE = 8 << 20, AT = 3 << 20, NONE = 0, READ_ONLY, SHARED, NOT_INHERITED, KINDS };

#ifdef LIBRARY
extern char variables[KINDS][SIZE];

__attribute__((constructor)) static void change(void)
{
	int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, i;

	for (i = 0; i < KINDS; i++)
		memset(variables[i], 7, SIZE);
	CHECK(!mprotect(variables[NONE] + AT, 4096, PROT_NONE));
	CHECK(!mprotect(variables[READ_ONLY] + AT, 4096, PROT_READ));
	CHECK(mmap(variables[SHARED], SIZE, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED);
	CHECK(!madvise(variables[NOT_INHERITED] + AT, 4096, MADV_DONTFORK));
}
#else
char variables[KINDS][SIZE] __attribute__((aligned(2 << 20)));

int main(void)
{
	int kind, status = 0;

	for (kind = 0; kind < KINDS; kind++) {
		volatile char *at = variables[kind] + AT;
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			*at = 42;
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		if (kind == SHARED)
			CHECK(!status && *at == 42);
		else if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
			fail("kind %d: the child's status is %#x", kind, (unsigned)status);
		if (kind == READ_ONLY || kind == NOT_INHERITED)
			CHECK(*at == 7);
	}
	pass();
}
#endif
