/* Other threads read streams and directories, which libc fills by itself, while the
   process forks: none of it fails, and all is there. */
#include "beside_forks.h"
#include <dirent.h>

#define LINES 10000
#define BIG ((size_t)300 << 10)

static char name[] = "/tmp/contract-streams-XXXXXX";
static long entries;

/* Libc's next blocks are not among the first ones of the heap, on base pages. */
static void take_some(void)
{
	int i;

	take_many();
	for (i = 0; i < 200; i++)
		memset(get(32816), 1, 32816);
}

static void read_all_lines(FILE *file, const char *which)
{
	char line[64];
	long count = 0;

	while (fgets(line, sizeof line, file))
		CHECK(atol(line) == count++);
	if (ferror(file) || count != LINES)
		fail("%s: %ld lines (errno %d)", which, count, errno);
}

static void *read_lines(void *argument)
{
	take_some();
	while (!stop) {
		FILE *file = fopen(name, "r");

		CHECK(file);
		read_all_lines(file, "fgets");
		CHECK(!fclose(file));
	}
	return argument;
}

/* It was opened, and begun, before there was a thread. */
static FILE *early;

static void *read_early(void *argument)
{
	while (!stop) {
		rewind(early);
		read_all_lines(early, "an early stream");
	}
	return argument;
}

/* So much at once goes to the program's own block. */
static void *read_much(void *argument)
{
	char *block, *again;
	size_t first, got;

	take_some();
	block = get(BIG);
	again = get(BIG);
	memset(again, 0, BIG);
	first = 0;
	while (!stop) {
		FILE *file = fopen(name, "r");

		CHECK(file);
		memset(block, 0, BIG);
		got = fread(block, 7, BIG / 7, file);
		if (ferror(file))
			fail("fread: %zu (errno %d)", got, errno);
		if (!first)
			memcpy(again, block, BIG);
		first = first ? first : got;
		CHECK(got == first && feof(file) && !memcmp(block, again, BIG) && !fclose(file));
	}
	return argument;
}

static long entries_of_dir(void)
{
	DIR *dir = opendir("/usr/bin");
	long count = 0;

	CHECK(dir);
	errno = 0;
	while (readdir(dir))
		count++;
	if (errno)
		fail("readdir: errno %d after %ld", errno, count);
	CHECK(!closedir(dir));
	return count;
}

static void *read_dirs(void *argument)
{
	take_some();
	while (!stop)
		CHECK(entries_of_dir() == entries);
	return argument;
}

int main(void)
{
	void *(*const tasks[])(void *) = {read_lines, read_dirs, read_much, read_early};
	FILE *file;
	long i;

	fill_heap(60);
	file = fdopen(mkstemp(name), "w");
	CHECK(file);
	for (i = 0; i < LINES; i++)
		CHECK(fprintf(file, "%ld\n", i) > 0);
	CHECK(!fclose(file));
	entries = entries_of_dir();
	take_many();
	early = fopen(name, "r");
	CHECK(early && getc(early) == '0');
	beside_forks(tasks, 4);
	CHECK(!unlink(name));
	right();
}
