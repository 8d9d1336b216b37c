/* mremap over memory that was mapped, opened, touched and advised in parts, as drawn from a
   seed: where the kernel lets several mappings become one a call may name them together, and
   where it does not it answers EFAULT. What each call comes to is printed, and a sum of what
   the memory holds. No address is printed.

   moved_parts draw SEED COUNT
   moved_parts cases             each kind of call, one after the other
   With MAPS in the environment the mappings after each call follow it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "maps.h"

#define MB ((size_t)1 << 20)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define DONTUNMAP 4
#define PAGES ((size_t)4096) /* 16 MB */
#define MOST 400

static char *memory, out[1 << 16];
static int fence = -1;

static void must(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(3);
	}
}

static uint64_t state;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

/* What can be done with each page: 0 nothing, 1 reading, 2 writing too; 3 of the fence, and
   4 where nothing is. */
static char may[PAGES];

static void look(const char *from, size_t len)
{
	unsigned long start, end, at, inode, base = (unsigned long)from;
	char rights[8], *line;

	memset(may, 4, len / PAGE);
	read_all("/proc/self/maps");
	for (line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		must(sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, rights, &inode) != 4, "maps");
		for (at = start < base ? base : start; at < end && at < base + len; at += PAGE)
			may[(at - base) / PAGE] = (char)(inode ? 3 : (rights[0] == 'r') + (rights[1] == 'w'));
	}
}

/* A sum of what may be done, and of what is read. */
static uint64_t sum(const char *from, size_t len, int read)
{
	uint64_t sum = 14695981039346656037u;
	size_t at;

	look(from, len);
	for (at = 0; at < len; at += PAGE) {
		int here = may[at / PAGE];

		sum = (sum ^ (unsigned)here) * 1099511628211u;
		if (read && (here == 1 || here == 2))
			sum = (sum ^ *(const unsigned char *)(from + at)) * 1099511628211u;
	}
	return sum;
}

/* Ends of mappings as the program has made them, in pages: calls begin and end there, more
   often than not. */
static unsigned ends[8];

static unsigned draw_end(void)
{
	return draw(3) ? ends[draw(8)] : draw(2) ? draw(8) * 512 : draw((unsigned)PAGES);
}

static void draw_part(size_t *at, size_t *len)
{
	unsigned first = draw_end(), end = draw_end();

	if (first == end)
		end = first + 1 + draw(64);
	if (end < first) {
		unsigned other = first;

		first = end;
		end = other;
	}
	if (end - first > 1200)
		end = first + 1 + draw(1200);
	if (end > PAGES)
		end = PAGES;
	if (first >= end)
		first = end - 1;
	ends[draw(8)] = first;
	ends[draw(8)] = end;
	*at = first * PAGE;
	*len = (end - first) * PAGE;
}

static const int ADVICE[] = {
	MADV_DONTNEED, MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_DONTDUMP, MADV_DODUMP, MADV_NOHUGEPAGE, MADV_RANDOM, MADV_NORMAL,
};

static void touch(size_t at, size_t len)
{
	size_t i, step = draw(2) ? PAGE : 64 * PAGE;

	look(memory, PAGES * PAGE);
	for (i = at; i < at + len; i += step)
		if (may[i / PAGE] == 2)
			memory[i] = (char)draw(256);
}

static const int MOVES[] = {
	0, MREMAP_MAYMOVE, MREMAP_MAYMOVE, MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | MREMAP_FIXED, MREMAP_MAYMOVE | DONTUNMAP,
	MREMAP_MAYMOVE | MREMAP_FIXED | DONTUNMAP,
};

/* Nothing lies in this range but what the program puts there: where it has nothing there is
   a file without access, which is no neighbour that anything merges with. */
static void put_fence(size_t first, size_t count)
{
	must(mmap(memory + first * PAGE, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_FIXED, fence, 0) == MAP_FAILED, "fence");
}

/* Opens it in a part, for what is to grow there. */
static void open_fence(size_t from, size_t to)
{
	size_t at;

	look(memory, PAGES * PAGE);
	for (at = from; at < to && at < PAGES; at++)
		if (may[at] == 3)
			must(munmap(memory + at * PAGE, PAGE), "munmap");
}

static void close_fence(void)
{
	size_t at, end;

	look(memory, PAGES * PAGE);
	for (at = 0; at < PAGES; at = end) {
		for (end = at + 1; end < PAGES && may[end] == may[at]; end++)
			;
		if (may[at] == 4)
			put_fence(at, end - at);
	}
}

static void move(int number)
{
	size_t at, len, to, other, new_len, shown;
	int flags = MOVES[draw(7)], error;
	char *now;

	draw_part(&at, &len);
	draw_part(&to, &other);
	switch (draw(4)) {
	case 0:
		new_len = other;
		break;
	case 1:
		new_len = len + (1 + draw(600)) * PAGE;
		break;
	case 2:
		new_len = len > PAGE ? len - draw((unsigned)(len / PAGE)) * PAGE : len;
		break;
	default:
		new_len = len;
	}
	if (flags & DONTUNMAP && draw(8))
		new_len = len;
	if (flags & MREMAP_FIXED && draw(8) && to < at + len && at < to + new_len)
		to = at + len;
	/* In this range it stays, or it goes elsewhere. */
	if (!(flags & MREMAP_FIXED) && at + new_len > PAGES * PAGE)
		new_len = PAGES * PAGE - at;
	if (to + new_len > PAGES * PAGE)
		to = PAGES * PAGE > new_len ? PAGES * PAGE - new_len : 0;
	if (new_len > PAGES * PAGE)
		new_len = PAGES * PAGE;
	if (!(flags & (MREMAP_FIXED | DONTUNMAP)))
		open_fence((at + len) / PAGE, (at + new_len) / PAGE);
	errno = 0;
	now = mremap(memory + at, len, new_len, flags, memory + to);
	error = now == MAP_FAILED ? errno : 0;
	close_fence();
	printf("%d: mremap %zu+%zu to %zu+%zu, %d: ", number, at / PAGE, len / PAGE, to / PAGE, new_len / PAGE, flags);
	if (now == MAP_FAILED) {
		printf("%s", strerror(error));
	} else if (now >= memory && now < memory + PAGES * PAGE) {
		printf("at %zu", (size_t)(now - memory) / PAGE);
	} else {
		shown = len < new_len ? len : new_len;
		printf("elsewhere %016llx", (unsigned long long)sum(now, shown, 1));
		must(munmap(now, new_len), "munmap");
	}
}

static void step(int number)
{
	size_t at, len;
	long result = 0;
	unsigned what = draw(16);

	if (what >= 10) {
		move(number);
	} else {
		draw_part(&at, &len);
		errno = 0;
		switch (what) {
		case 0:
		case 1:
		case 2:
			result = mmap(memory + at, len, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED;
			break;
		case 3:
			result = mmap(memory + at, len, PROT_NONE, ANON | MAP_FIXED, -1, 0) == MAP_FAILED;
			break;
		case 4:
			put_fence(at / PAGE, len / PAGE);
			break;
		case 5:
			result = mprotect(memory + at, len, draw(4) ? RW : PROT_READ);
			break;
		case 6:
			result = madvise(memory + at, len, ADVICE[draw(sizeof ADVICE / sizeof *ADVICE)]);
			break;
		default:
			touch(at, len);
		}
		printf("%d: call %u of %zu+%zu: %ld %s", number, what, at / PAGE, len / PAGE, result, result ? strerror(errno) : "");
	}
	printf(", %016llx\n", (unsigned long long)sum(memory, PAGES * PAGE, draw(16) == 0));
	fflush(stdout);
	if (getenv("MAPS"))
		tell_range(memory, PAGES * PAGE);
}

/* The range lies between two pages of a file, which nothing merges with. */
static void get_memory(void)
{
	size_t len = PAGES * PAGE;
	char *room = mmap(NULL, len + 4 * MB, PROT_NONE, ANON | MAP_NORESERVE, -1, 0);
	int flags = MAP_PRIVATE | MAP_FIXED;

	fence = open("/proc/self/exe", O_RDONLY);
	must(room == MAP_FAILED || fence < 0, "room");
	memory = (char *)(((uintptr_t)room + 2 * MB) & ~(2 * MB - 1));
	must(mmap(memory - PAGE, PAGE, PROT_NONE, flags, fence, 0) == MAP_FAILED, "fence");
	must(mmap(memory + len, PAGE, PROT_NONE, flags, fence, 0) == MAP_FAILED, "fence");
	switch (draw(3)) {
	case 0:
		break;
	case 1:
		must(mprotect(memory, len, RW), "mprotect");
		break;
	default:
		put_fence(0, PAGES);
	}
}

/* Between holes: a small mapping and a large one behind it that are filled, one mapping to
   the kernel; `first` and `count` are a part of both, 8 pages of the small one. */
enum { SMALL = 16, LARGE = 1024, AT = 512, FIRST = AT + 8, COUNT = SMALL + LARGE - 8 };

static char *page(size_t number)
{
	return memory + number * PAGE;
}

static void map(size_t first, size_t count)
{
	must(mmap(page(first), count * PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED, "mmap");
}

static void fill(size_t first, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		*page(first + i) = (char)(i * 7 + 1);
}

static void both(void)
{
	put_fence(0, PAGES);
	map(AT, SMALL);
	fill(AT, SMALL);
	map(AT + SMALL, LARGE);
	fill(AT + SMALL, LARGE);
}

/* What is behind them nothing can grow into. */
static void stop(void)
{
	must(mmap(page(AT + SMALL + LARGE), PAGE, PROT_NONE, ANON | MAP_FIXED, -1, 0) == MAP_FAILED, "mmap");
}

static int by_number;

static void tell(const char *what, size_t count, int flags, void *to)
{
	int error;
	char *now;

	if (!flags)
		open_fence(FIRST + COUNT, FIRST + count);
	errno = 77;
	now = by_number ? (char *)syscall(SYS_mremap, page(FIRST), COUNT * PAGE, count * PAGE, flags, to)
			: mremap(page(FIRST), COUNT * PAGE, count * PAGE, flags, to);
	error = errno;
	close_fence();
	printf("%s: ", what);
	if (now == MAP_FAILED)
		printf("%s", strerror(error));
	else if (now >= memory && now < memory + PAGES * PAGE)
		printf("at %zu, errno %d", (size_t)(now - memory) / PAGE, error);
	else
		printf("elsewhere, errno %d, %016llx", error, (unsigned long long)sum(now, count * PAGE, 1));
	if (now == to)
		printf(", as named");
	printf(", %016llx\n", (unsigned long long)sum(memory, PAGES * PAGE, 1));
	fflush(stdout);
	if (now != MAP_FAILED && (now < memory || now >= memory + PAGES * PAGE))
		must(munmap(now, count * PAGE), "munmap");
}

static void moves(void)
{
	const int there = MREMAP_MAYMOVE | MREMAP_FIXED;
	char *free;

	both();
	tell("longer in its place", COUNT + 700, 0, NULL);
	tell("and again", COUNT + 100, 0, NULL);
	both();
	stop();
	tell("longer in its place, where there is no room", COUNT + 700, 0, NULL);
	tell("longer elsewhere", COUNT + 700, MREMAP_MAYMOVE, NULL);
	both();
	tell("shorter", 20, MREMAP_MAYMOVE, NULL);
	both();
	map(2000, 1500);
	fill(2000, 1500);
	tell("to a place", COUNT, there, page(2100));
	both();
	tell("to a place, longer", COUNT + 9, there, page(2100));
	both();
	tell("to a place, shorter", 600, there, page(2100));
	both();
	tell("to a place, over itself", COUNT, there, page(FIRST + 5));
	both();
	stop();
	tell("with its old place", COUNT, MREMAP_MAYMOVE | DONTUNMAP, NULL);
	both();
	tell("with its old place, to a place", COUNT, there | DONTUNMAP, page(2100));
	both();
	free = mmap(NULL, 2 * PAGES * PAGE, PROT_NONE, ANON, -1, 0);
	must(free == MAP_FAILED || munmap(free, 2 * PAGES * PAGE), "munmap");
	tell("with its old place, near a place", COUNT, MREMAP_MAYMOVE | DONTUNMAP, free);
	both();
	tell("with its old place, longer", COUNT + 1, MREMAP_MAYMOVE | DONTUNMAP, NULL);
}

/* What the kernel has in parts in any run. */
static void refusals(void)
{
	static const int advices[] = { MADV_DONTDUMP, MADV_DONTFORK, MADV_NOHUGEPAGE, MADV_RANDOM, 18 };
	size_t i;

	for (i = 0; i < sizeof advices / sizeof *advices; i++) {
		both();
		stop();
		must(madvise(page(AT + 30), 3 * PAGE, advices[i]), "madvise");
		tell("with a part that is advised", COUNT + 9, MREMAP_MAYMOVE, NULL);
	}
	both();
	must(mprotect(page(AT + SMALL), LARGE * PAGE, PROT_READ), "mprotect");
	tell("with a part of other rights", COUNT + 9, MREMAP_MAYMOVE, NULL);
	must(mprotect(page(AT + SMALL), LARGE * PAGE, RW), "mprotect");
	stop();
	tell("of the same again", COUNT + 9, MREMAP_MAYMOVE, NULL);
	both();
	must(munmap(page(AT + SMALL), PAGE), "munmap");
	tell("with a hole", COUNT + 9, MREMAP_MAYMOVE, NULL);
	/* Filled apart, and joined later by what is between them. */
	put_fence(0, PAGES);
	map(AT, SMALL);
	fill(AT, SMALL);
	map(AT + 2 * SMALL, LARGE);
	fill(AT + 2 * SMALL, LARGE);
	map(AT + SMALL, SMALL);
	fill(AT + SMALL, SMALL);
	tell("of two that were filled apart", COUNT + 9, MREMAP_MAYMOVE, NULL);
}

static void cases(void)
{
	int status;
	pid_t pid;

	moves();
	refusals();
	puts("by number");
	by_number = 1;
	moves();
	by_number = 0;
	both();
	stop();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		tell("in a child", COUNT + 9, MREMAP_MAYMOVE, NULL);
		_exit(0);
	}
	must(pid < 0 || waitpid(pid, &status, 0) != pid || status, "child");
}

int main(int argc, char **argv)
{
	int i, count = argc == 4 ? atoi(argv[3]) : 0;

	must(argc < 2, "arguments");
	state = (argc > 2 ? strtoull(argv[2], NULL, 0) : 0) * 2654435761u + 1;
	setvbuf(stdout, out, _IOFBF, sizeof out);
	get_memory();
	if (!strcmp(argv[1], "cases"))
		cases();
	for (i = 0; i < count; i++)
		step(i);
	puts("end");
	return 0;
}
