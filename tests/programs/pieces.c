/* A heap of small mappings, each at an address drawn by lot, as V8 makes its heap: twice
   as long as they are to be, cut to what is aligned, then opened.

   pieces huge MB [N]   how much of so many MB is on huge pages, in percent; after a part
                        of it has gone and come again N times
   pieces answers       what calls on such pieces come to
   pieces threads       the same heap made and given back by four threads */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "filled.h"

#define PIECE ((size_t)256 << 10)
#define RW (PROT_READ | PROT_WRITE)
#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static char *lot(unsigned *seed)
{
	uint64_t drawn = (uint64_t)rand_r(seed) << 31 | (uint64_t)rand_r(seed);

	return (char *)((drawn & 0x3ffffffff) * PIECE % ((uint64_t)1 << 46) | (uint64_t)1 << 40);
}

static char *piece(unsigned *seed)
{
	size_t len = 2 * PIECE - PAGE;
	char *all = mmap(lot(seed), len, PROT_NONE, FLAGS, -1, 0), *at;

	must(all == MAP_FAILED, "mmap");
	must(madvise(all, len, MADV_DONTFORK), "madvise");
	at = (char *)(((uintptr_t)all + PIECE - 1) / PIECE * PIECE);
	if (at > all)
		must(munmap(all, (size_t)(at - all)), "munmap before");
	if (at + PIECE < all + len)
		must(munmap(at + PIECE, (size_t)(all + len - at - PIECE)), "munmap behind");
	must(mprotect(at, PIECE, RW), "mprotect");
	return at;
}

static char *heap[4096];

static long share(void)
{
	return 100 * rollup("AnonHugePages") / rollup("Anonymous");
}

/* A pair goes, and another comes. */
static void again(size_t at, unsigned *seed)
{
	size_t i;

	for (i = at; i < at + 2; i++)
		must(munmap(heap[i], PIECE), "munmap");
	for (i = at; i < at + 2; i++)
		fill(heap[i] = piece(seed), PIECE, i);
}

static void huge(size_t count, int rounds)
{
	unsigned seed = 1;
	size_t i, at;

	for (i = 0; i < count; i++)
		fill(heap[i] = piece(&seed), PIECE, i);
	for (at = 0; rounds > 0; rounds--, at = at + 12 < count ? at + 10 : 0)
		again(at, &seed);
	for (i = 0; i < count; i++)
		must(!holds(heap[i], PIECE, i), "contents");
	printf("huge=%ld\n", share());
}

static int is_mapped(char *at)
{
	unsigned char is_there;

	return mincore(at, PAGE, &is_there) == 0;
}

static void tell(const char *what, int result)
{
	printf("%s: %d %s\n", what, result, result < 0 ? strerror(errno) : "");
}

/* Mappings of other kinds, which have the address that they name. */
static void others(unsigned *seed)
{
	static const struct {
		size_t len;
		int prot, flags;
	} kinds[] = {
		{ PIECE, PROT_NONE, FLAGS },
		{ 2 * PIECE, PROT_NONE, FLAGS },
		{ 2 * PIECE - PAGE, RW, FLAGS },
		{ 2 * PIECE - PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS },
		{ 2 * PIECE - PAGE, PROT_NONE, FLAGS | MAP_FIXED_NOREPLACE },
		{ 64 << 10, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS },
	};
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		char *hint = lot(seed);
		char *at = mmap(hint, kinds[i].len, kinds[i].prot, kinds[i].flags, -1, 0);

		printf("other %zu: %s\n", i, at == hint ? "where it was asked for" : "elsewhere");
		must(munmap(at, kinds[i].len), "munmap");
	}
}

static void answers(void)
{
	unsigned seed = 7;
	size_t i, intact = 0;
	char *at;
	int zero;

	others(&seed);
	for (i = 0; i < 64; i++)
		fill(heap[i] = piece(&seed), PIECE, i);
	at = heap[20];
	tell("munmap", munmap(at, PIECE));
	printf("mapped: %d %d\n", is_mapped(at), is_mapped(at + PIECE - PAGE));
	tell("mprotect of what is gone", mprotect(at, PIECE, RW));
	tell("madvise of what is gone", madvise(at, PIECE, MADV_DONTNEED));
	at = heap[30];
	tell("munmap of a part", munmap(at + PAGE, PAGE));
	printf("mapped: %d %d %d\n", is_mapped(at), is_mapped(at + PAGE), is_mapped(at + 2 * PAGE));
	at = heap[40];
	tell("mprotect", mprotect(at, PIECE, PROT_NONE));
	tell("madvise", madvise(at, PIECE, MADV_DONTNEED));
	tell("mprotect", mprotect(at, PIECE, RW));
	printf("empty: %d\n", at[0] == 0 && at[PIECE - 1] == 0);
	at = heap[50];
	tell("read only", mprotect(at + PAGE, PAGE, PROT_READ));
	must((zero = open("/dev/zero", O_RDONLY)) < 0, "/dev/zero");
	tell("read into it", (int)read(zero, at + PAGE, 1));
	tell("free", madvise(at + 2 * PAGE, PAGE, MADV_DONTNEED));
	printf("empty: %d, not: %d\n", at[2 * PAGE] == 0, *(size_t *)(at + 3 * PAGE) == 50 + 3 * PAGE);
	for (i = 0; i < 64; i++)
		if (i != 20 && i != 30 && i != 40 && i != 50)
			intact += (size_t)holds(heap[i], PIECE, i);
	printf("intact: %zu\n", intact);
}

static void *thread(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;
	char *own[96];
	size_t round, i;

	for (i = 0; i < 96; i++)
		fill(own[i] = piece(&seed), PIECE, i);
	for (round = 0; round < 3000; round++) {
		i = (size_t)rand_r(&seed) % 96;
		must(munmap(own[i], PIECE), "munmap");
		own[i] = piece(&seed);
		must(own[i][0] != 0 || own[i][PIECE - 1] != 0, "zeros");
		fill(own[i], PIECE, round);
		must(!holds(own[i], PIECE, round), "contents");
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[4];
	uintptr_t i;

	for (i = 0; i < 4; i++)
		must(pthread_create(&all[i], NULL, thread, (void *)(i + 1)), "pthread_create");
	for (i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	printf("done\n");
}

int main(int argc, char **argv)
{
	if (argc > 2)
		huge((size_t)atol(argv[2]) << 2, argc > 3 ? atoi(argv[3]) : 0);
	else if (argc > 1 && !strcmp(argv[1], "answers"))
		answers();
	else
		threads();
	return 0;
}
