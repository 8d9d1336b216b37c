/* Calls on shared memory. Each mode checks contents and results, and prints "ok".

   shared MODE */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include "check.h"
#include "smaps.h"

#define PAGE 4096ul

static const size_t len = (9ul << 20) + 3 * PAGE;

/* A descriptor of /dev/zero: another way to map anonymous memory. */
static int zero_fd = -1;

static uint64_t *map(size_t n)
{
	int anonymous = zero_fd < 0 ? MAP_ANONYMOUS : 0;
	uint64_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | anonymous, zero_fd, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void put(uint64_t *p, size_t from, size_t to, uint64_t seed)
{
	for (size_t i = from / 8; i < to / 8; i++)
		p[i] = seed + i;
}

static void see(uint64_t *p, size_t from, size_t to, uint64_t seed)
{
	for (size_t i = from / 8; i < to / 8; i++)
		if (p[i] != seed + i) {
			fprintf(stderr, "word %zu is damaged\n", i);
			_exit(5);
		}
}

static sigjmp_buf back;

static void on_fault(int signal)
{
	siglongjmp(back, signal);
}

/* Returns the signal that a store to this address raises, or 0. */
static int fault(volatile char *p)
{
	int got = sigsetjmp(back, 1);

	if (!got)
		*p = *p;
	return got;
}

/* Returns the huge kB of the mapping at this address. */
static unsigned long huge_at(void *p)
{
	struct range found = read_range(p, 1);

	return found.thp + found.hugetlb;
}

static void in_child(void (*what)(uint64_t *), uint64_t *p)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		what(p);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
}

static void child_writes(uint64_t *p)
{
	see(p, 0, len, 1);
	put(p, 0, len, 2);
}

/* Calls on a whole mapping. */
static void whole(void)
{
	uint64_t *p = map(len);

	put(p, 0, len, 1);
	printf("huge_kb=%lu of %lu\n", huge_at(p), len >> 10);
	in_child(child_writes, p);
	see(p, 0, len, 2);
	CHECK(mprotect(p, len, PROT_READ) == 0);
	CHECK(fault((char *)p + len - 1) == SIGSEGV);
	CHECK(mprotect(p, len, PROT_READ | PROT_WRITE) == 0);
	CHECK(madvise(p, len, MADV_DONTNEED) == 0);
	see(p, 0, len, 2);
	CHECK(msync(p, len, MS_SYNC) == 0);
	CHECK(mlock(p, len) == 0 && munlock(p, len) == 0);
	CHECK(munmap(p, len) == 0);
	CHECK(fault((char *)p) == SIGSEGV && fault((char *)p + len - 1) == SIGSEGV);
}

static void zero(void)
{
	zero_fd = open("/dev/zero", O_RDWR);
	CHECK(zero_fd >= 0);
	whole();
}

/* Parts, before any fork. */
static void parts(void)
{
	uint64_t *p = map(len);

	put(p, 0, len, 3);
	CHECK(mprotect((char *)p + 5 * PAGE, PAGE, PROT_READ) == 0);
	CHECK(fault((char *)p + 5 * PAGE) == SIGSEGV);
	CHECK(fault((char *)p + 4 * PAGE) == 0 && fault((char *)p + 6 * PAGE) == 0);
	see(p, 0, len, 3);
	CHECK(munmap((char *)p + 100 * PAGE, 7 * PAGE) == 0);
	CHECK(fault((char *)p + 100 * PAGE) == SIGSEGV && fault((char *)p + 106 * PAGE) == SIGSEGV);
	see(p, 0, 100 * PAGE, 3);
	see(p, 107 * PAGE, len, 3);
	CHECK(munmap(p, len) == 0);
}

/* Unmaps the ends, within the first and the last huge page. */
static void ends(void)
{
	uint64_t *p = map(len);

	put(p, 0, len, 4);
	CHECK(munmap((char *)p + len - PAGE, PAGE) == 0);
	CHECK(fault((char *)p + len - PAGE) == SIGSEGV);
	see(p, 0, len - PAGE, 4);
	CHECK(munmap(p, PAGE) == 0);
	CHECK(fault((char *)p) == SIGSEGV);
	see(p, PAGE, len - PAGE, 4);
	CHECK(munmap((char *)p + PAGE, len - 2 * PAGE) == 0);
	CHECK(fault((char *)p + PAGE) == SIGSEGV);
}

/* mremap: shrinks twice in place, then moves. */
static void remap(void)
{
	uint64_t *p = map(len), *q;

	put(p, 0, len, 5);
	q = mremap(p, len, len - 2 * PAGE, 0);
	CHECK(q == p);
	see(p, 0, len - 2 * PAGE, 5);
	q = mremap(p, len - 2 * PAGE, 3ul << 20, 0);
	CHECK(q == p);
	see(p, 0, 3ul << 20, 5);
	CHECK(fault((char *)p + (4ul << 20)) == SIGSEGV);
	q = mremap(p, 3ul << 20, 3ul << 20, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)p + (64ul << 20) + PAGE);
	CHECK(q == (uint64_t *)((char *)p + (64ul << 20) + PAGE));
	see(q, 0, 3ul << 20, 5);
	CHECK(fault((char *)p) == SIGSEGV);
	CHECK(munmap(q, 3ul << 20) == 0);
}

/* Drops a part, and maps something else over a part. */
static void holes(void)
{
	uint64_t *p = map(len);
	size_t i;

	put(p, 0, len, 6);
	CHECK(madvise((char *)p + 10 * PAGE, 3 * PAGE, MADV_REMOVE) == 0);
	for (i = 10 * PAGE / 8; i < 13 * PAGE / 8; i++)
		CHECK(p[i] == 0);
	see(p, 13 * PAGE, len, 6);
	CHECK(mmap((char *)p + 20 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (char *)p + 20 * PAGE);
	CHECK(p[20 * PAGE / 8] == 0);
	see(p, 21 * PAGE, len, 6);
	CHECK(munmap(p, len) == 0);
}

/* With a child or another thread: a call that succeeds has its effect, a call that fails
   changes nothing, and contents stay shared. */
static void parts_fail_or_not(char *at)
{
	int failed = mprotect(at + 8 * PAGE, PAGE, PROT_READ);

	CHECK(failed ? errno == EINVAL && fault(at + 8 * PAGE) == 0 : fault(at + 8 * PAGE) == SIGSEGV);
	failed = munmap(at + 9 * PAGE, PAGE);
	CHECK(failed ? errno == EINVAL && fault(at + 9 * PAGE) == 0 : fault(at + 9 * PAGE) == SIGSEGV);
	failed = mmap(at + 12 * PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED;
	CHECK(failed ? errno == EINVAL && at[12 * PAGE] != 0 : at[12 * PAGE] == 0);
	CHECK(madvise(at + 20 * PAGE, PAGE, MADV_DONTNEED) == 0 && at[20 * PAGE] != 0);
	CHECK(madvise(at + 21 * PAGE, PAGE, MADV_RANDOM) == 0);
}

static void forked(void)
{
	uint64_t *p = map(len);
	int go[2], status;
	char c = 0;
	pid_t pid;

	put(p, 0, len, 1);
	CHECK(pipe(go) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK(read(go[0], &c, 1) == 1);
		see(p, 13 * PAGE, len, 7);
		_exit(0);
	}
	parts_fail_or_not((char *)p);
	put(p, 13 * PAGE, len, 7);
	CHECK(write(go[1], &c, 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	/* mprotect returns ENOMEM if a part was unmapped. */
	CHECK(mprotect(p, len, PROT_READ) == 0 || errno == ENOMEM);
	CHECK(munmap(p, len) == 0 && fault((char *)p + 50 * PAGE) == SIGSEGV);
}

static volatile int stop;

static void *keep_counting(void *arg)
{
	volatile uint64_t *word = arg;
	uint64_t n = 0;

	while (!stop) {
		*word = *word + 1;
		n++;
	}
	return *word == n ? NULL : arg;
}

static void threads(void)
{
	uint64_t *p = map(len);
	pthread_t thread[3];
	void *lost;
	int i;

	put(p, 0, len, 1);
	for (i = 0; i < 3; i++) {
		p[30 * PAGE / 8 + 1000 * i] = 0;
		pthread_create(&thread[i], NULL, keep_counting, p + 30 * PAGE / 8 + 1000 * i);
	}
	usleep(20000);
	parts_fail_or_not((char *)p);
	usleep(20000);
	stop = 1;
	for (i = 0; i < 3; i++) {
		pthread_join(thread[i], &lost);
		CHECK(lost == NULL);
	}
	CHECK(munmap(p, len) == 0);
}

/* Memory that is left alone, and invalid calls. */
static void others(void)
{
	char *p = mmap(NULL, 1ul << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *q = mmap(NULL, 8ul << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	char *r = mmap(NULL, 3 * PAGE, PROT_READ, MAP_PRIVATE, fd, PAGE);

	CHECK(p != MAP_FAILED && q != MAP_FAILED && r != MAP_FAILED);
	p[0] = q[0] = 1;
	CHECK(huge_at(p) == 0 && huge_at(q) == 0);
	CHECK(munmap(q + PAGE, PAGE) == 0 && fault(q + PAGE) == SIGSEGV);
	errno = 0;
	CHECK(munmap(p + 1, PAGE) == -1 && errno == EINVAL);
	CHECK(mmap(NULL, 0, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
	/* musl rounds the address, glibc does not. */
	printf("odd_mprotect=%d\n", mprotect(p + 1, PAGE, PROT_READ | PROT_WRITE));
	CHECK(madvise(p, PAGE, 12345) == -1 && errno == EINVAL);
	CHECK(mremap(p, PAGE, PAGE, MREMAP_FIXED, p) == MAP_FAILED && errno == EINVAL);
	CHECK(munmap(p, 1ul << 20) == 0);
}

/* System V segments. */
static void segment(void)
{
	struct shmid_ds state;
	int id = shmget(IPC_PRIVATE, len, IPC_CREAT | 0600), small;
	uint64_t *p = shmat(id, NULL, 0);

	/* Removed before any check: it would outlive this program and keep its pages. */
	CHECK(shmctl(id, IPC_RMID, NULL) == 0);
	CHECK(p != (void *)-1);
	CHECK(shmctl(id, IPC_STAT, &state) == 0);
	printf("segsz=%zu\n", state.shm_segsz);
	CHECK(state.shm_segsz == len);
	put(p, 0, len, 1);
	printf("huge_kb=%lu of %lu\n", huge_at(p), len >> 10);
	in_child(child_writes, p);
	see(p, 0, len, 2);
	CHECK(shmdt(p) == 0);
	CHECK(fault((char *)p) == SIGSEGV);
	small = shmget(IPC_PRIVATE, 100, IPC_CREAT | 0600);
	CHECK(small >= 0 && shmctl(small, IPC_RMID, NULL) == 0);
	errno = 0;
	CHECK(shmget(0x7654321, 100, 0) == -1 && errno == ENOENT);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"whole", whole}, {"parts", parts}, {"ends", ends}, {"remap", remap}, {"holes", holes},
		{"forked", forked}, {"threads", threads}, {"others", others}, {"segment", segment},
		{"zero", zero},
	};
	struct sigaction action = {.sa_handler = on_fault};
	size_t i;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	for (i = 0; i < sizeof modes / sizeof *modes; i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			puts("ok");
			return 0;
		}
	return 2;
}
