/* Memory that moves to its next toucher's node. Threads run on CPUs 0 and 1, one on each node. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "numa/where.h"

int huge_next_touch(void *, size_t) __attribute__((weak));

static size_t len = 512 * MB;
static char *memory;

/* The thread on node 1 runs jobs; the main thread is on node 0. */
static void (*job)(void);
static pthread_barrier_t start, end;

static void *worker(void *arg)
{
	run_on(1);
	for (;;) {
		pthread_barrier_wait(&start);
		job();
		pthread_barrier_wait(&end);
	}
	return arg;
}

static void begin_job(void (*what)(void))
{
	job = what;
	pthread_barrier_wait(&start);
}

static void end_job(void)
{
	pthread_barrier_wait(&end);
}

static void run_job(void (*what)(void))
{
	begin_job(what);
	end_job();
}

/* Maps and fills memory on node 0, aligned to huge pages. */
static void fresh(int advice)
{
	char *at = mmap(NULL, len + 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	memory = (char *)(((uintptr_t)at + 2 * MB - 1) & -(2 * MB));
	munmap(memory + len, 2 * MB - (memory - at));
	if (memory > at)
		munmap(at, memory - at);
	madvise(memory, len, advice);
	fill(memory, len, 1);
}

static void unmap(void)
{
	munmap(memory, len);
}

static void ask(void)
{
	if (huge_next_touch(memory, len))
		fail("huge_next_touch");
}

static void touch(void)
{
	for (size_t at = 0; at < len; at += 2 * MB)
		((volatile char *)memory)[at + 64]++;
	for (size_t at = 0; at < len; at += 2 * MB)
		((volatile char *)memory)[at + 64]--;
}

static void touch_each(void)
{
	for (size_t at = 0; at < len; at += PAGE)
		((volatile char *)memory)[at];
}

static void pieces(void)
{
	fresh(MADV_HUGEPAGE);
	ask();
	run_job(touch);
	where("touched", memory, len);
	check("touched", memory, len, 1);
	unmap();
	fresh(MADV_NOHUGEPAGE);
	ask();
	run_job(touch_each);
	where("base", memory, len);
	check("base", memory, len, 1);
	unmap();
}

static void touch_odd(void)
{
	for (size_t at = 2 * MB; at < len; at += 4 * MB)
		((volatile char *)memory)[at];
}

static void touch_even(void)
{
	for (size_t at = 0; at < len; at += 4 * MB)
		((volatile char *)memory)[at];
}

/* Both nodes touch their own pieces at once. */
static void both(void)
{
	fresh(MADV_HUGEPAGE);
	ask();
	begin_job(touch_odd);
	touch_even();
	end_job();
	where("both", memory, len);
	check("both", memory, len, 1);
	unmap();
}

static void check_all(void)
{
	check("there", memory, len, 1);
}

/* A fork while pieces await their touch and the other thread touches some. */
static void forks(void)
{
	for (int n = 0; n < 4; n++) {
		int status;
		pid_t pid;

		fresh(n & 1 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		ask();
		begin_job(n & 2 ? check_all : touch_odd);
		pid = fork();
		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			check("child", memory, len, 1);
			_exit(0);
		}
		end_job();
		if (waitpid(pid, &status, 0) != pid || status)
			fail("the child");
		check("parent", memory, len, 1);
		/* Once more, now that the pages were shared. */
		ask();
		run_job(touch_each);
		where("again", memory, len);
		check("again", memory, len, 1);
		unmap();
	}
}

static void reads(void)
{
	int pipes[2];
	char *half;

	fresh(MADV_HUGEPAGE);
	half = memory + len / 2;
	ask();
	if (pipe(pipes) || write(pipes[1], "hello", 5) != 5)
		fail("pipe");
	if (read(pipes[0], half + 8, 5) != 5 || memcmp(half + 8, "hello", 5))
		fail("read");
	/* The kernel reads, too. */
	if (write(pipes[1], memory, 8) != 8 || read(pipes[0], half + 8, 8) != 8)
		fail("write");
	if (memcmp(half + 8, memory, 8))
		fail("compare");
	memset(half + 8, 0, 8);
	check("read", memory, len, 1);
	unmap();
}

/* Calls that change memory before its next touch. */
static void calls(void)
{
	char *moved, *to;

	fresh(MADV_HUGEPAGE);
	ask();
	if (madvise(memory + 4 * MB + PAGE, 3 * MB, MADV_DONTNEED))
		fail("madvise");
	for (size_t at = 0; at < 3 * MB; at += PAGE)
		if (memory[4 * MB + PAGE + at])
			fail("dropped memory isn't zero");
	for (size_t at = 0; at < 3 * MB; at += 512)
		*(uint64_t *)(memory + 4 * MB + PAGE + at) = (4 * MB + PAGE + at + 1) * 2654435761u + 1;
	check("dropped", memory, 16 * MB, 1);
	/* Unmapped and mapped again. */
	if (munmap(memory + 17 * MB, 4 * MB + PAGE))
		fail("munmap");
	moved = mmap(memory + 17 * MB, 4 * MB + PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (size_t at = 0; at < 4 * MB + PAGE; at += PAGE)
		if (moved[at])
			fail("new memory isn't zero");
	memset(moved, 7, 4 * MB + PAGE);
	/* Moved to another place, like realloc. */
	to = mmap(NULL, 64 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved = mremap(memory + 32 * MB, 16 * MB, 24 * MB, MREMAP_MAYMOVE | MREMAP_FIXED, to + PAGE);
	if (moved != to + PAGE)
		fail("mremap");
	for (size_t at = 16 * MB; at < 24 * MB; at += PAGE)
		if (moved[at])
			fail("a grown mapping isn't zero");
	if (mprotect(memory + 48 * MB, 8 * MB, PROT_READ))
		fail("mprotect");
	check("protected", memory, 16 * MB, 1);
	for (size_t at = 48 * MB; at < len; at += 512)
		if (*(uint64_t *)(memory + at) != (at + 1) * 2654435761u + 1)
			fail("contents behind");
	for (size_t at = 0; at < 16 * MB; at += 512)
		if (*(uint64_t *)(moved + at) != (32 * MB + at + 1) * 2654435761u + 1)
			fail("contents of the moved part");
	for (size_t at = 0; at < 4 * MB + PAGE; at++)
		if (memory[17 * MB + at] != 7)
			fail("new contents");
	/* Untouched pieces come back at a fork. */
	fresh(MADV_HUGEPAGE);
	ask();
	if (mprotect(memory, 8 * MB, PROT_READ))
		fail("mprotect");
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		check("child", memory, len, 1);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		fail("the child");
	check("back", memory, len, 1);
}

/* For hugectl --next-touch, which acts once the number of threads is constant for a second. */
static void program(void)
{
	fresh(MADV_HUGEPAGE);
	sleep(6);
	run_job(touch);
	where("program", memory, len);
	check("program", memory, len, 1);
}

/* The heap, with blocks that are grown, freed and taken again before their next touch. */
static void heap(void)
{
	enum { SIZE = 1 << 20 };
	size_t n = len / SIZE;
	char **all = block(n * sizeof *all);

	for (size_t i = 0; i < n; i++)
		fill(all[i] = block(SIZE), SIZE, (int)i);
	sleep(4);
	for (size_t i = 0; i < n; i += 3)
		if (!(all[i] = realloc(all[i], 2 * SIZE)))
			fail("realloc");
	for (size_t i = 1; i < n; i += 3) {
		free(all[i]);
		fill(all[i] = block(SIZE), SIZE, (int)i);
	}
	for (size_t i = 0; i < n; i++)
		check("heap", all[i], SIZE, (int)i);
}

static void invalid_ranges(void)
{
	if (huge_next_touch(NULL, 0) != -1 || errno != EINVAL)
		fail("an empty range");
	if (huge_next_touch((void *)-PAGE, 2 * PAGE) != -1 || errno != EINVAL)
		fail("a range beyond the end");
	if (huge_next_touch((void *)invalid_ranges, 1) != -1 || errno != EINVAL)
		fail("code");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;

	nodes = nodes_of_machine();
	if (argc > 2)
		len = strtoul(argv[2], NULL, 10) * MB;
	if (!strcmp(what, "one-node")) {
		fresh(MADV_HUGEPAGE);
		int result = huge_next_touch(memory, len);
		printf("%d %s\n", result, result ? strerror(errno) : "");
		return 0;
	}
	run_on(0);
	pthread_barrier_init(&start, NULL, 2);
	pthread_barrier_init(&end, NULL, 2);
	pthread_create(&thread, NULL, worker, NULL);
	/* Also waits until the thread runs on its node. */
	run_job(invalid_ranges);
	if (!strcmp(what, "ask")) {
		fresh(MADV_HUGEPAGE);
		ask();
	} else if (!strcmp(what, "pieces"))
		pieces();
	else if (!strcmp(what, "both"))
		both();
	else if (!strcmp(what, "forks"))
		forks();
	else if (!strcmp(what, "reads"))
		reads();
	else if (!strcmp(what, "calls"))
		calls();
	else if (!strcmp(what, "program"))
		program();
	else if (!strcmp(what, "heap"))
		heap();
	else
		return 2;
	printf("end\n");
	return 0;
}
