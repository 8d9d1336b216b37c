/* Pages of the heap that other threads close, open and drop while the heap grows, and what
   it began with moves to a pool: what is closed stays so, what is dropped is gone, and
   nobody ends. Each time anew in a process of its own. */
#include "contract.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define THREADS 3
#define PAGE ((size_t)4096)
#define TIMES 12

static _Atomic int stop;
static int nothing;

/* Whether the kernel can read what is there. */
static int is_open(const char *page)
{
	return write(nothing, page, 1) == 1;
}

static void *close_and_drop(void *argument)
{
	char *page = argument;

	while (!stop) {
		page[1] = 5;
		CHECK(!mprotect(page, PAGE, PROT_NONE));
		if (is_open(page))
			fail("a closed page can be read");
		CHECK(!mprotect(page, PAGE, PROT_READ | PROT_WRITE) && page[1] == 5);
		CHECK(!madvise(page, PAGE, MADV_DONTNEED));
		if (page[1])
			fail("a dropped page has its contents");
	}
	return argument;
}

static void grow(void)
{
	pthread_t thread[THREADS];
	char *page[THREADS], *block;
	int i;

	nothing = open("/tmp", O_RDWR | O_TMPFILE | O_APPEND, 0600);
	CHECK(nothing >= 0);
	for (i = 0; i < THREADS; i++) {
		CHECK(!posix_memalign((void **)&page[i], PAGE, 64 * PAGE));
		memset(page[i], 1, 64 * PAGE);
		memset(get(6 * MIB), 2, 6 * MIB);
	}
	for (i = 0; i < THREADS; i++)
		thread[i] = start(close_and_drop, page[i] + 7 * PAGE);
	usleep(2000);
	for (i = 0; i < 60; i++) {
		block = get(MIB);
		memset(block, i, MIB);
	}
	usleep(2000);
	stop = 1;
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(page[i][6 * PAGE] == 1 && page[i][8 * PAGE] == 1);
}

int main(int argc, char **argv)
{
	char *words[] = {argv[0], (char *)"once", NULL};
	int i;

	if (argc > 1) {
		grow();
		_exit(0);
	}
	for (i = 0; i < TIMES; i++) {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			execv("/proc/self/exe", words);
			_exit(9);
		}
		wait_for(child, "one that grows");
	}
	right();
}
