/* Forks beside threads that write, and have the kernel write, to the same memory: no byte is
   lost and nobody is killed. With -DSTATIC it is data and bss, else the heap.

   forks FORKS THREADS [emptied]
   Each fourth fork makes a daemon, and each is followed by a vfork and a posix_spawn. With
   `emptied` another process takes all free pages of the pool before the first fork. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define BLOCKS 72
#define STEP 512 /* words between two that are checked */
#define PART 65536
#define THREADS 8

#ifdef STATIC
static uint64_t data[10 * MIB / 8] = {1}, bss[62 * MIB / 8], counted[THREADS][MIB / 8];
#endif
static uint64_t *block[BLOCKS], *own[THREADS];
static volatile int stop;
static int file;
extern char **environ;

static void fail(const char *what, long number)
{
	dprintf(1, "%s: %ld (%s)\n", what, number, strerror(errno));
	_exit(1);
}

static void write_all(uint64_t seed)
{
	for (size_t i = 0; i < BLOCKS; i++)
		for (size_t k = 0; k < MIB / 8; k += STEP)
			block[i][k] = seed + i * 1000003 + k;
}

static void check_all(uint64_t seed, const char *who)
{
	for (size_t i = 0; i < BLOCKS; i++)
		for (size_t k = 0; k < MIB / 8; k += STEP)
			if (block[i][k] != seed + i * 1000003 + k)
				fail(who, (long)i);
}

/* Counts in memory of its own, and reads from a file to it. */
static void *count(void *which)
{
	volatile uint64_t *mine = own[(uintptr_t)which];
	char *part = (char *)mine + MIB / 2;
	uint64_t n = 0;

	while (!stop) {
		n++;
		mine[0]++;
		mine[MIB / 8 - 1]++;
		part[n % PART] = 0;
		ssize_t got = pread(file, part, PART, 0);
		if (got != PART)
			fail("read", (long)got);
		if (part[n % PART] != 7)
			fail("a byte that was read", (long)n);
		if (n % 16 == 0)
			usleep(100);
	}
	if (mine[0] != n || mine[MIB / 8 - 1] != n)
		fail("stores of a thread", (long)n);
	return NULL;
}

static void wait_for(pid_t pid, const char *who)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		fail(who, pid < 0 ? -1 : status);
}

/* What a child does: in its own child, where it is to be a daemon. */
static void be_child(uint64_t seed, int is_daemon)
{
	if (is_daemon) {
		int ends[2];
		char c = 0;

		setsid();
		if (pipe(ends))
			fail("pipe", 0);
		pid_t pid = fork();
		if (pid < 0)
			fail("fork of a child", pid);
		if (pid) {
			close(ends[1]);
			_exit(read(ends[0], &c, 1) != 1);
		}
		check_all(seed, "a daemon");
		write_all(seed + 1);
		check_all(seed + 1, "a daemon");
		_exit(write(ends[1], &c, 1) != 1);
	}
	check_all(seed, "a child");
	write_all(seed + 1);
	check_all(seed + 1, "a child");
	_exit(0);
}

static void one_fork(uint64_t seed, int is_daemon)
{
	char *words[] = {"/bin/true", NULL};

	write_all(seed);
	pid_t pid = fork();
	if (pid == 0)
		be_child(seed, is_daemon);
	check_all(seed, "the parent");
	write_all(seed + 2);
	check_all(seed + 2, "the parent");
	wait_for(pid, "a child");
	pid = vfork();
	if (pid == 0)
		_exit(0);
	wait_for(pid, "a child of vfork");
	if (posix_spawn(&pid, words[0], NULL, NULL, words, environ))
		fail("posix_spawn", 0);
	wait_for(pid, "true");
}

/* A process that takes all free pages of the pool when it is told to. */
static pid_t taker(int to[2], int from[2])
{
	char c;

	if (pipe(to) || pipe(from))
		fail("pipe", 0);
	pid_t pid = fork();
	if (pid)
		return pid;
	if (read(to[0], &c, 1) != 1)
		_exit(1);
	for (;;) {
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE;
		void *page = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (page == MAP_FAILED || madvise(page, 2 * MIB, 23 /* MADV_POPULATE_WRITE */))
			break;
	}
	if (write(from[1], &c, 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

int main(int argc, char **argv)
{
	int forks = argc > 1 ? atoi(argv[1]) : 3, threads = argc > 2 ? atoi(argv[2]) : 0;
	int emptied = argc > 3, to[2], from[2];
	pid_t other = emptied ? taker(to, from) : 0;
	pthread_t thread[THREADS];
	char name[] = "/tmp/forksXXXXXX", bytes[PART], c = 0;

	file = mkstemp(name);
	unlink(name);
	memset(bytes, 7, sizeof bytes);
	if (file < 0 || threads > THREADS || write(file, bytes, PART) != PART)
		return 2;
	for (size_t i = 0; i < BLOCKS; i++)
#ifdef STATIC
		block[i] = i < 10 ? data + i * MIB / 8 : bss + (i - 10) * MIB / 8;
#else
		block[i] = malloc(MIB);
#endif
	for (int i = 0; i < THREADS; i++)
#ifdef STATIC
		own[i] = counted[i];
#else
		own[i] = calloc(1, MIB);
#endif
	write_all(0);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, count, (void *)(uintptr_t)i))
			fail("pthread_create", i);
	if (emptied && (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1))
		fail("the other process", other);
	for (int i = 0; i < forks; i++)
		one_fork((uint64_t)i * 7, i % 4 == 3);
	stop = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (emptied)
		kill(other, SIGKILL), waitpid(other, NULL, 0);
	puts("right");
	return 0;
}
