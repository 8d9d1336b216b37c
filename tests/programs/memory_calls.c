/* Random calls on parts of a shared or private mapping or of a block from malloc. Prints each
   call with its result, its error and a checksum of contents and protections, so that two
   runs with the same seed can be compared. Prints no address.

   memory_calls shared|private|block SEED COUNT */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "check.h"
#include "smaps.h"

#define PAGE 4096ul
#define PAGES 1540ul /* three huge pages of 2 MiB, and four base pages */
#define SIZE (PAGES * PAGE)

static int is_block, is_shared, probe[2];
static char *memory;

static uint64_t state;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

/* Pages that were unmapped or replaced; something else may be there. */
static char gone[PAGES];

/* Returns 1 if a byte can be read, 2 if also written, else 0. Raises no signal. */
static int access_of(char *at)
{
	char byte;

	if (write(probe[1], at, 1) != 1)
		return 0;
	if (read(probe[0], at, 1) == 1)
		return 2;
	CHECK(read(probe[0], &byte, 1) == 1);
	return 1;
}

/* The protections of all pages, as access_of() tells them, but without a system call for each. */
static void read_protections(char may[PAGES])
{
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char line[512], prot[8];
	uintptr_t start, end, at;
	size_t page;

	CHECK(maps >= 0);
	memset(may, 0, PAGES);
	next_line(maps, NULL, 0);
	while (next_line(maps, line, sizeof line)) {
		CHECK(sscanf(line, "%lx-%lx %4s", &start, &end, prot) == 3);
		for (page = 0; page < PAGES; page++) {
			at = (uintptr_t)memory + page * PAGE;
			if (start <= at && at < end)
				may[page] = prot[0] != 'r' ? 0 : prot[1] != 'w' ? 1 : 2;
		}
	}
	close(maps);
}

/* A checksum of readable contents and of protections. */
static uint64_t sum(void)
{
	uint64_t sum = 14695981039346656037u;
	char may[PAGES];
	size_t page, i;

	read_protections(may);
	for (page = 0; page < PAGES; page++) {
		char *at = memory + page * PAGE;

		sum = (sum ^ (unsigned char)may[page]) * 1099511628211u;
		for (i = 0; may[page] && i < PAGE; i += 1024)
			sum = (sum ^ (unsigned char)at[i]) * 1099511628211u;
	}
	return sum;
}

/* Writes to a random place, if it is writable. */
static void scribble(void)
{
	char *at = memory + draw(PAGES) * PAGE;

	if (access_of(at) == 2)
		at[1024 * draw(4)] = (char)draw(256);
}

/* Not MADV_DONTFORK: shared memory loses it when it becomes ordinary memory. */
static const int ADVICE[] = {
    MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_REMOVE, MADV_HUGEPAGE,
    MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP, MADV_MERGEABLE, MADV_UNMERGEABLE,
    18 /* WIPEONFORK */, 19 /* KEEPONFORK */, 20 /* COLD */, 21 /* PAGEOUT */, 24 /* DONTNEED_LOCKED */, 12345,
};
#define ADVICES (sizeof ADVICE / sizeof *ADVICE)

static const int PROT[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE};

/* A child that writes and prints its checksum. */
static int child(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		scribble();
		printf("  the child sees %016llx\n", (unsigned long long)sum());
		fflush(stdout);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	draw(2);
	return status;
}

/* Draws a range: up to eight base pages, one huge page, or all to the end. */
static void draw_part(size_t *at, size_t *len)
{
	switch (draw(4)) {
	case 0:
		*at = draw(3) * 512;
		*len = 512;
		break;
	case 1:
		*at = draw(PAGES);
		*len = PAGES - *at;
		break;
	default:
		*at = draw(PAGES - 8);
		*len = 1 + draw(8);
	}
	*at *= PAGE;
	*len *= PAGE;
}

/* Counts the differences to a second mapping of the same memory. */
static long look_at_twice(size_t at, size_t len)
{
	char *other;
	size_t i;
	long differing = 0;

	other = mremap(memory + at, 0, len, MREMAP_MAYMOVE);
	if (other == MAP_FAILED)
		return -1;
	for (i = 0; i < len; i += 1024)
		if (!gone[(at + i) / PAGE] && access_of(other + i) && access_of(memory + at + i))
			differing += other[i] != memory[at + i];
	CHECK(munmap(other, len) == 0);
	return differing;
}

/* Moves all memory to an address that is not aligned to huge pages. */
static long move(void)
{
	char *room = mmap(NULL, SIZE + (4ul << 20), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *now;

	CHECK(room != MAP_FAILED);
	now = (char *)(((uintptr_t)room + (2ul << 20)) & ~((2ul << 20) - 1)) + PAGE;
	if (mremap(memory, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, now) == MAP_FAILED)
		return -1;
	memory = now;
	return 0;
}

static void step(int number)
{
	size_t at, len;
	unsigned what = draw(is_block ? 8 : 12);
	long result = 0;
	int detail = 0, error;

	scribble();
	draw_part(&at, &len);
	errno = 0;
	switch (what) {
	case 0:
	case 1:
		detail = PROT[draw(4)];
		result = mprotect(memory + at, len, detail);
		break;
	case 2:
	case 3:
	case 4:
		detail = ADVICE[draw(ADVICES)];
		result = madvise(memory + at, len, detail);
		break;
	case 5:
		/* Shared memory loses locks when it becomes ordinary memory. */
		if (is_shared)
			break;
		detail = (int)draw(2);
		result = detail ? mlock(memory + at + 100, len - 200) : munlock(memory + at + 100, len - 200);
		break;
	case 6:
		result = child();
		break;
	case 7:
		result = msync(memory + at, len, MS_SYNC);
		break;
	case 8:
		if (draw(6) == 0) {
			result = munmap(memory + at, len);
			memset(gone + at / PAGE, 1, len / PAGE);
		}
		break;
	case 9:
		if (draw(6) == 0) {
			int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
			result = mmap(memory + at, len, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? -1 : 0;
			memset(gone + at / PAGE, 1, len / PAGE);
		}
		break;
	case 10:
		result = look_at_twice(at, len);
		break;
	case 11:
		if (draw(8) == 0)
			result = move();
		break;
	}
	error = errno;
	printf("%d: call %u of %lu at %lu, %d: %ld %s, %016llx\n", number, what, len / PAGE, at / PAGE, detail, result,
	       result < 0 ? strerror(error) : "", (unsigned long long)sum());
	fflush(stdout);
}

static void get_memory(const char *word)
{
	size_t i;

	if (!strcmp(word, "block")) {
		/* A heap that is large enough for huge pages. */
		is_block = 1;
		for (i = 0; i < 64; i++)
			memset(malloc(1ul << 20), 5, 1ul << 20);
		memory = aligned_alloc(2ul << 20, SIZE);
		CHECK(memory);
	} else {
		int type = strcmp(word, "private") ? MAP_SHARED : MAP_PRIVATE;

		is_shared = type == MAP_SHARED;
		memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, type | MAP_ANONYMOUS, -1, 0);
		CHECK(memory != MAP_FAILED);
	}
	for (i = 0; i < SIZE; i++)
		memory[i] = (char)(i * 7 + i / PAGE);
}

int main(int argc, char **argv)
{
	int count, i;

	CHECK(argc == 4);
	state = strtoull(argv[2], NULL, 0);
	count = atoi(argv[3]);
	CHECK(pipe(probe) == 0);
	get_memory(argv[1]);
	for (i = 0; i < count; i++)
		step(i);
	puts("end");
	return 0;
}
