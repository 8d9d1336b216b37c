/* A program drops contents of its own variables, constants and code. They come from its file
   again. What it has put something else in the place of is that one's. With an argument of 1
   it sees no /proc then; what is written is kept, since its contents cannot be had. */
#include "contract.h"
#include <sched.h>
#include <stdint.h>
#include <sys/mount.h>

enum { SIZE = 6 << 20, COUNT = SIZE / sizeof(int), AT = 3 << 20, PAGE = 4096 };

static int variables[COUNT] __attribute__((aligned(PAGE))) = {[0 ... COUNT - 1] = 7};
static const int constants[COUNT] __attribute__((aligned(PAGE))) = {[0 ... COUNT - 1] = 5};
static char zeros[SIZE] __attribute__((aligned(PAGE)));

__asm__(".text\n.fill 3 << 20, 1, 0\n");
__attribute__((noipa, aligned(PAGE))) static int called(int of)
{
	return of * 3 + 1;
}
__asm__(".text\n.fill 3 << 20, 1, 0\n");

static int drop(const void *start, int pages, int advice)
{
	return madvise((void *)((uintptr_t)start & -(uintptr_t)PAGE), (size_t)pages * PAGE, advice);
}

static void hides_proc(void)
{
	CHECK(!unshare(CLONE_NEWNS) && !mount("none", "/proc", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(!mount("none", "/proc", "tmpfs", 0, NULL));
}

int main(int argc, char **argv)
{
	volatile int *at = variables + AT / (int)sizeof(int);
	volatile const int *constant = constants + AT / (int)sizeof(int);
	volatile char *zero = zeros + AT;
	int rights = PROT_READ | PROT_WRITE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (number(argc, argv, 1, 0)) {
		hides_proc();
		at[0] = 9;
		CHECK(!drop((const void *)constant, 2, MADV_DONTNEED) && *constant == 5);
		CHECK(!drop((const void *)called, 1, MADV_DONTNEED) && called(3) == 10);
		CHECK(drop((const void *)at, 1, MADV_DONTNEED) ? errno == EAGAIN && at[0] == 9 : at[0] == 7);
		right();
	}
	/* Written ones, and some beside them that stay so. */
	at[-1] = at[0] = at[2 * PAGE / sizeof(int)] = *zero = 9;
	CHECK(!drop((const void *)at, 2, MADV_DONTNEED));
	CHECK(at[-1] == 9 && at[0] == 7 && at[PAGE / sizeof(int)] == 7 && at[2 * PAGE / sizeof(int)] == 9);
	at[0] = 8;
	CHECK(at[0] == 8 && !drop((const void *)zero, 1, MADV_DONTNEED) && !*zero);
	CHECK(!drop((const void *)constant, 3, MADV_DONTNEED) && *constant == 5 && constant[PAGE] == 5);
	CHECK(!drop((const void *)called, 1, MADV_DONTNEED) && called(3) == 10);
	/* A page that is only read stays so. */
	CHECK(!mprotect((void *)(at + PAGE), PAGE, PROT_READ));
	CHECK(!drop((const void *)(at + PAGE), 1, MADV_DONTNEED) && at[PAGE] == 7);
	CHECK(!mprotect((void *)(at + PAGE), PAGE, rights));
	/* What the kernel gives to memory without a file alone. */
	at[0] = 9;
	CHECK(drop((const void *)at, 1, MADV_FREE) && errno == EINVAL);
	CHECK(drop((const void *)at, 1, MADV_WIPEONFORK) && errno == EINVAL);
	CHECK(drop((const void *)at, 1, MADV_REMOVE) && errno == EACCES && at[0] == 9);
	CHECK(!mlock((void *)at, PAGE) && drop((const void *)at, 1, MADV_DONTNEED) && errno == EINVAL);
	CHECK(at[0] == 9 && !munlock((void *)at, PAGE));
	/* Other memory in its place, of which nothing is in any file. */
	CHECK(mmap((void *)at, PAGE, rights, flags, -1, 0) == at && !at[0]);
	at[0] = 9;
	CHECK(!drop((const void *)(at - PAGE / sizeof(int)), 3, MADV_DONTNEED));
	CHECK(!at[0] && at[-1] == 7 && at[PAGE / sizeof(int)] == 7);
	CHECK(!munmap((void *)at, PAGE) && drop((const void *)at, 1, MADV_DONTNEED) && errno == ENOMEM);
	right();
}
