/* Memory that is taken in many small mappings, each where the kernel lays it, as LuaJIT and
   Python do for their objects.

   rows huge MB KB     how much of so many MB, taken by so many KB, is on huge pages, in
                       percent, and what is in memory; then some go and come again, and all
                       have kept what was written
   rows sparse MB KB   the same, of which one page in each is used
   rows grow MB        the same of one mapping, which is filled and doubled, from 1 MB and a
                       page to so many
   rows answers        what calls on such mappings come to
   rows threads        mappings made, filled and given back by four threads */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "filled.h"

#define KB ((size_t)1024)
#define RW (PROT_READ | PROT_WRITE)
#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS)
#define MOST 8192

static char *all[MOST];

static char *take(size_t len)
{
	char *at = mmap(NULL, len, RW, FLAGS, -1, 0);

	must(at == MAP_FAILED, "mmap");
	return at;
}

static void told(void)
{
	long there = rollup("Anonymous");

	printf("huge=%ld kB=%ld\n", 100 * rollup("AnonHugePages") / there, there);
}

static void huge(size_t mb, size_t len)
{
	size_t i, count = mb * 1024 * KB / len;

	must(count > MOST, "too many");
	for (i = 0; i < count; i++)
		fill(all[i] = take(len), len, i);
	told();
	/* Some go, and others come where they were. */
	for (i = 10; i < count; i += 37)
		must(munmap(all[i], len), "munmap");
	for (i = 10; i < count; i += 37)
		fill(all[i] = take(len), len, i);
	for (i = 0; i < count; i++)
		must(!holds(all[i], len, i), "contents");
}

static void sparse(size_t mb, size_t len)
{
	size_t i, count = mb * 1024 * KB / len;

	must(count > MOST, "too many");
	for (i = 0; i < count; i++)
		*(all[i] = take(len)) = 1;
	told();
}

static void grow(size_t mb)
{
	size_t len = 1024 * KB + PAGE, was = 0;
	char *at = take(len);

	for (;;) {
		fill(at + was, len - was, was);
		if (len > mb * 1024 * KB)
			break;
		was = len;
		len = 2 * (len - PAGE) + PAGE;
		at = mremap(at, was, len, MREMAP_MAYMOVE);
		must(at == MAP_FAILED, "mremap");
	}
	told();
	must(!holds(at, len, 0), "contents");
}

static void tell(const char *what, int failed)
{
	printf("%s: %s\n", what, failed ? strerror(errno) : "0");
	errno = 0;
}

/* The row as a whole, from the last one that was taken up to the first; 0 where the
   kernel has not laid them so. */
static char *row(size_t count, size_t len)
{
	char *low = all[count - 1];
	size_t i;

	for (i = 1; i < count; i++)
		if (all[i] + len != all[i - 1])
			return NULL;
	return low;
}

static void answers(void)
{
	const size_t len = 128 * KB, count = 160;
	char *low, *at;
	size_t i;
	int status;

	/* What lies above has other rights, so that the first ones are beside nothing. */
	must(mprotect(take(len), len, PROT_READ), "mprotect");
	for (i = 0; i < count; i++)
		fill(all[i] = take(len), len, i);
	low = row(count, len);
	must(!low, "not in a row");
	at = mremap(low + 5 * len, 40 * len, 30 * len, 0);
	tell("mremap over several", at == MAP_FAILED);
	at = mremap(low + 50 * len + PAGE, 20 * len, 60 * len, MREMAP_MAYMOVE);
	tell("mremap moves", at == MAP_FAILED);
	must(!holds(at + len - PAGE, len, count - 52), "moved contents");
	tell("munmap of a page", munmap(all[10] + 3 * PAGE, PAGE));
	tell("mprotect of three", mprotect(all[20], 3 * PAGE, PROT_READ));
	tell("and back", mprotect(all[20], 3 * PAGE, RW));
	tell("dontneed", madvise(all[30] - 2 * PAGE, 5 * PAGE, MADV_DONTNEED));
	must(*(size_t *)all[30] != 0, "dropped contents");
	tell("mlock", mlock(all[40], 5 * PAGE));
	tell("free", madvise(all[45], len, MADV_FREE));
	tell("wipe", madvise(all[50], len, MADV_WIPEONFORK));
	fflush(stdout);
	if (fork() == 0)
		_exit(*(size_t *)(all[50] + PAGE) == 0 && holds(all[51], len, 51) ? 7 : 1);
	wait(&status);
	printf("child: %d\n", WEXITSTATUS(status));
	/* More follow below, over what was cut. */
	for (i = count; i < 3 * count; i++)
		fill(all[i] = take(len), len, i);
	for (i = count; i < 3 * count; i++)
		must(!holds(all[i], len, i), "later contents");
	must(!holds(all[0], len, 0) || !holds(all[60], len, 60), "contents");
}

static void *churn(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;
	char *mine[200] = {0};
	size_t round, len = 64 * KB << seed % 3;

	for (round = 0; round < 20000; round++) {
		size_t at = (size_t)rand_r(&seed) % 200;

		if (mine[at]) {
			must(!holds(mine[at], len, at), "a thread's contents");
			must(munmap(mine[at], len), "munmap");
			mine[at] = NULL;
		} else {
			fill(mine[at] = take(len), len, at);
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t others[4];
	uintptr_t i;

	for (i = 0; i < 4; i++)
		must(pthread_create(&others[i], NULL, churn, (void *)(i + 1)), "thread");
	for (i = 0; i < 4; i++)
		pthread_join(others[i], NULL);
	puts("threads done");
}

int main(int count, char **args)
{
	const char *what = count > 1 ? args[1] : "";
	size_t mb = count > 2 ? (size_t)atol(args[2]) : 64;
	size_t len = count > 3 ? (size_t)atol(args[3]) * KB : 128 * KB;

	if (!strcmp(what, "huge"))
		huge(mb, len);
	else if (!strcmp(what, "sparse"))
		sparse(mb, len);
	else if (!strcmp(what, "grow"))
		grow(mb);
	else if (!strcmp(what, "answers"))
		answers();
	else if (!strcmp(what, "threads"))
		threads();
	else
		return 2;
	return 0;
}
