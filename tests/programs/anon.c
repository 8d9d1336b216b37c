/* Large private mappings, as allocators and virtual machines make them.

   anon WAY...   (the ways: see mapped())
   Prints for each: WAY huge=PERCENT advised=yes|no maps=NEW_MAPPINGS */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include "smaps.h"

#define MB ((size_t)1 << 20)
#define LEN (64 * MB)
#define RW (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

static char *map(size_t len, int prot, int flags)
{
	char *at = mmap(NULL, len, prot, PRIVATE | flags, -1, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return at;
}

static void must(int result)
{
	if (result) {
		perror("a call on memory");
		exit(1);
	}
}

static void fixed(char *at, size_t len, int prot)
{
	must(mmap(at, len, prot, PRIVATE | MAP_FIXED, -1, 0) != (void *)at);
}

/* Reserves 1 GB and makes a part accessible in steps. */
static char *committed(int by_map, size_t step)
{
	char *at = map(1024 * MB, PROT_NONE, MAP_NORESERVE);
	size_t done;

	for (done = 0; done < LEN; done += step) {
		if (by_map)
			fixed(at + done, step, RW);
		else
			must(mprotect(at + done, step, RW));
	}
	return at;
}

/* Gives memory back and takes it again. */
static char *again(void)
{
	char *at = committed(1, 4 * MB);

	memset(at, 1, LEN);
	fixed(at + 16 * MB, 16 * MB, PROT_NONE);
	fixed(at + 16 * MB, 16 * MB, RW);
	return at;
}

static char *grown(void)
{
	char *at = map(MB, RW, 0);
	size_t len;

	memset(at, 7, MB);
	for (len = MB; len < LEN; len *= 2) {
		at = mremap(at, len, 2 * len, MREMAP_MAYMOVE);
		must(at == MAP_FAILED);
		memset(at + len, 7, len);
		/* Prevents growth in place. */
		mmap(at + 2 * len, 4096, PROT_NONE, PRIVATE, -1, 0);
	}
	return at;
}

static char *mapped(const char *way, size_t *len)
{
	char *at;

	*len = LEN;
	if (!strcmp(way, "map"))
		return map(LEN, RW, 0);
	if (!strcmp(way, "raw"))
		return (char *)syscall(SYS_mmap, 0, LEN, RW, PRIVATE, -1, 0);
	if (!strcmp(way, "populate"))
		return map(LEN, RW, MAP_POPULATE);
	if (!strcmp(way, "protect"))
		return committed(0, 4 * MB);
	if (!strcmp(way, "pages"))
		return committed(0, 4096);
	if (!strcmp(way, "fixed"))
		return committed(1, 4 * MB);
	if (!strcmp(way, "steps"))
		return committed(1, MB);
	if (!strcmp(way, "again"))
		return again();
	if (!strcmp(way, "grow"))
		return grown();
	if (!strcmp(way, "nh")) {
		at = map(LEN, RW, 0);
		must(madvise(at, LEN, MADV_NOHUGEPAGE));
		must(mprotect(at, LEN, PROT_NONE));
		must(mprotect(at, LEN, RW));
		return at;
	}
	*len = 1024 * MB;
	if (!strcmp(way, "sparse"))
		return map(*len, RW, 0);
	*len = 3 * MB;
	if (!strcmp(way, "odd"))
		return map(*len, RW, 0);
	if (!strcmp(way, "stack"))
		return map(*len, RW, MAP_STACK);
	*len = MB;
	if (!strcmp(way, "small"))
		return map(*len, RW, 0);
	fprintf(stderr, "what is %s?\n", way);
	exit(2);
}

static int count_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int c, count = 0;

	while (file && (c = getc(file)) != EOF)
		count += c == '\n';
	if (file)
		fclose(file);
	return count;
}

int main(int argc, char **argv)
{
	int i;

	count_mappings(); /* The first stdio buffer may add a mapping. */
	for (i = 1; i < argc; i++) {
		int before = count_mappings();
		size_t len, done, step = strcmp(argv[i], "sparse") ? 4096 : 8 * MB;
		char *at = mapped(argv[i], &len);
		int after = count_mappings();
		struct range found;

		for (done = 0; done < len; done += step)
			memset(at + done, 1, 4096);
		found = read_range(at, len);
		printf("%s huge=%lu advised=%s maps=%d\n", argv[i], found.rss ? 100 * found.thp / found.rss : 0,
		       found.advised == found.mappings ? "yes" : "no", after - before);
		/* Makes it less likely that the next mapping merges with this one. */
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	return 0;
}
