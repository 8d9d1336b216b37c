/* On which nodes the memory of a heap lies, by the kernel's own answer to
   move_pages(2), under what a program may do about it. Each line names a range
   and its kilobytes on each node and on pages of a pool. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "judge.h"

#define MB (1UL << 20)
#define PAGE 4096UL
#define NODES 8

enum { BIND = 2, INTERLEAVE = 3, STRICT = 1, MOVE = 2 };

/* libnuma's. */
long mbind(void *, unsigned long, int, const unsigned long *, unsigned long, unsigned);
long get_mempolicy(int *, unsigned long *, unsigned long, void *, int);
long set_mempolicy(int, const unsigned long *, unsigned long);
void numa_tonode_memory(void *, size_t, int);

static int nodes;

static void fail(const char *what)
{
	printf("FAILED %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* The guest's processor N is the one of node N. */
static void run_on(int node)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(node, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		fail("sched_setaffinity");
}

static int nodes_of_machine(void)
{
	char path[64];
	int n = 0;

	do
		snprintf(path, sizeof path, "/sys/devices/system/node/node%d", n++);
	while (access(path, F_OK) == 0);
	return n - 1;
}

static unsigned long within(uintptr_t start, uintptr_t end, uintptr_t from, uintptr_t to)
{
	start = start < from ? from : start;
	end = end > to ? to : end;
	return start < end ? end - start : 0;
}

/* Bytes of a range that lie in mappings of a pool. */
static unsigned long in_pool(void *at, size_t len)
{
	unsigned long start = 0, end = 0, kb, sum = 0;
	char line[512];
	FILE *f = fopen("/proc/self/smaps", "r");

	while (fgets(line, sizeof line, f)) {
		char c;

		if (sscanf(line, "%lx-%lx %c", &start, &end, &c) == 3)
			continue;
		if (sscanf(line, "KernelPageSize: %lu kB", &kb) == 1 && kb > 64)
			sum += within((uintptr_t)at, (uintptr_t)at + len, start, end);
	}
	fclose(f);
	return sum;
}

/* Adds the kilobytes on each node. */
static void count(unsigned long on[NODES + 1], char *at, size_t len)
{
	enum { BATCH = 512 };
	uintptr_t page = (uintptr_t)at & -PAGE, end = (uintptr_t)at + len;

	while (page < end) {
		void *pages[BATCH];
		int status[BATCH], n;

		for (n = 0; n < BATCH && page < end; n++, page += PAGE)
			pages[n] = (void *)page;
		if (syscall(SYS_move_pages, 0, (long)n, pages, NULL, status, 0))
			fail("move_pages");
		for (int i = 0; i < n; i++)
			on[status[i] >= 0 && status[i] < NODES ? status[i] : NODES] += PAGE >> 10;
	}
}

static void show(const char *what, const unsigned long on[NODES + 1], unsigned long pool)
{
	char text[256];
	int len = 0;

	for (int n = 0; n < nodes; n++)
		len += snprintf(text + len, sizeof text - len, " n%d=%lu", n, on[n]);
	printf("%s%s none=%lu pool=%lu\n", what, text, on[NODES], pool >> 10);
	fflush(stdout);
}

static void where(const char *what, void *at, size_t len)
{
	unsigned long on[NODES + 1] = {0};

	count(on, at, len);
	show(what, on, in_pool(at, len));
}

/* Contents that tell one block and one place from another. */
static void fill(char *at, size_t len, int salt)
{
	for (size_t i = 0; i + 8 <= len; i += 512)
		*(uint64_t *)(at + i) = (i + 1) * 2654435761u + salt;
}

static int is_filled(const char *at, size_t len, int salt)
{
	for (size_t i = 0; i + 8 <= len; i += 512)
		if (*(const uint64_t *)(at + i) != (i + 1) * 2654435761u + salt)
			return 0;
	return 1;
}

static void check(const char *what, const char *at, size_t len, int salt)
{
	if (!is_filled(at, len, salt)) {
		printf("FAILED %s: contents\n", what);
		fflush(stdout);
		_exit(1);
	}
}

static void *block(size_t len)
{
	void *at = malloc(len);

	if (!at)
		fail("malloc");
	return at;
}

/* Many blocks of one size, and where they are. */
static void many(const char *what, size_t size, size_t total)
{
	unsigned long on[NODES + 1] = {0}, pool = 0;
	size_t n = total / size;
	char **all = block(n * sizeof *all);

	for (size_t i = 0; i < n; i++) {
		all[i] = block(size);
		memset(all[i], 1, size);
	}
	if (size >= PAGE)
		for (size_t i = 0; i < n; i++)
			count(on, all[i], size);
	else
		for (size_t i = 0; i < n; i += 4)
			count(on, all[i], 1);
	for (size_t i = 0; i < n && size >= MB; i++)
		pool += in_pool(all[i], size);
	show(what, on, pool);
	for (size_t i = 0; i < n; i++)
		free(all[i]);
	free(all);
}

/* Small, medium and large blocks of this thread. */
static void blocks(const char *who)
{
	char what[64];

	snprintf(what, sizeof what, "%s small", who);
	many(what, 1000, 16 * MB);
	snprintf(what, sizeof what, "%s medium", who);
	many(what, 200000, 16 * MB);
	snprintf(what, sizeof what, "%s large", who);
	many(what, 24 * MB, 48 * MB);
}

static pthread_barrier_t all_here;

static void *on_node(void *arg)
{
	int node = (int)(intptr_t)arg;
	char who[32];

	run_on(node);
	pthread_barrier_wait(&all_here);
	/* The second time, what the first one has freed is there. */
	for (int round = 0; round < 2; round++) {
		snprintf(who, sizeof who, "thread %d round %d", node, round);
		blocks(who);
		pthread_barrier_wait(&all_here);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[NODES];

	/* A heap that is not small any more. */
	char *start[24];

	run_on(0);
	for (int i = 0; i < 24; i++) {
		start[i] = block(2 * MB);
		memset(start[i], 1, 2 * MB);
	}
	pthread_barrier_init(&all_here, NULL, nodes);
	for (int n = 0; n < nodes; n++)
		pthread_create(&thread[n], NULL, on_node, (void *)(intptr_t)n);
	for (int n = 0; n < nodes; n++)
		pthread_join(thread[n], NULL);
	for (int i = 0; i < 24; i++)
		free(start[i]);
}

static char *page_of(char *at)
{
	return (char *)(((uintptr_t)at + PAGE - 1) & -PAGE);
}

/* The policy of a range, as the kernel has it. */
static void policy(const char *what, char *at)
{
	unsigned long mask = 0;
	int mode = -1;

	if (get_mempolicy(&mode, &mask, 8 * sizeof mask, at, 2))
		fail("get_mempolicy");
	printf("%s policy=%d nodes=%lx\n", what, mode, mask);
	fflush(stdout);
}

static const unsigned long SECOND = 2, BOTH = 3;

static void bind(char *at, size_t len, int mode, const unsigned long *mask, unsigned flags)
{
	if (mbind(at, len, mode, mask, 8 * sizeof *mask, flags))
		fail("mbind");
}

static void binds(void)
{
	size_t len = 32 * MB, part = 16 * MB + 3 * PAGE;
	char *a, *b, *c, *d, *at;

	run_on(0);
	/* Fresh, a part of it, not at a huge page. */
	a = block(len);
	at = page_of(a) + 5 * PAGE;
	numa_tonode_memory(at, part, 1);
	fill(a, len, 1);
	where("fresh bound", at, part);
	where("fresh behind", at + part, len - part - 8 * PAGE);
	policy("fresh bound", at);
	policy("fresh behind", at + part);
	/* Filled before, and moved. */
	b = block(len);
	fill(b, len, 2);
	bind(page_of(b), len - 2 * PAGE, BIND, &SECOND, MOVE);
	where("moved bound", page_of(b), len - 2 * PAGE);
	check("moved", b, len, 2);
	/* As strict as can be, before the first touch. */
	c = block(len);
	bind(page_of(c), len - 2 * PAGE, BIND, &SECOND, STRICT);
	fill(c, len, 3);
	where("strict bound", page_of(c), len - 2 * PAGE);
	d = block(len);
	bind(page_of(d), len - 2 * PAGE, INTERLEAVE, &BOTH, 0);
	fill(d, len, 4);
	where("interleaved", page_of(d), len - 2 * PAGE);
	/* What grows keeps it. */
	b = realloc(b, 2 * len);
	check("grown", b, len, 2);
	fill(b, 2 * len, 2);
	where("grown bound", page_of(b), 2 * len - 2 * PAGE);
	check("fresh", a, len, 1);
	check("strict", c, len, 3);
	check("interleaved", d, len, 4);
	errno = 0;
	if (mbind(page_of(d), len / 2, 77, &BOTH, 64, 0) != -1 || errno != EINVAL)
		fail("a mode that there is not");
	bind(page_of(d), len - 2 * PAGE, 0, NULL, 0);
	/* What was freed is free of it. */
	free(a);
	free(b);
	free(c);
	a = block(len);
	c = block(len);
	fill(a, len, 5);
	fill(c, len, 6);
	where("again", a, len);
	where("again", c, len);
	policy("again", page_of(a));
}

/* What others do to a process: its pages move from one node to the other. */
static void migrates(void)
{
	const unsigned long first = 1;
	char *at;

	run_on(0);
	at = block(32 * MB);
	fill(at, 32 * MB, 9);
	where("before", at, 32 * MB);
	if (syscall(SYS_migrate_pages, 0, 64L, &first, &SECOND))
		fail("migrate_pages");
	where("migrated", at, 32 * MB);
	check("migrated", at, 32 * MB, 9);
}

struct own {
	int node;
	char *at;
};

enum { OWN = 24 * MB };

static void *has_own(void *arg)
{
	struct own *own = arg;

	run_on(own->node);
	own->at = block(OWN);
	fill(own->at, OWN, 10 + own->node);
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_here);
	return NULL;
}

/* Everything where it was, and what it was. */
static void review(const char *who, struct own *owns, char *bound, char *spread)
{
	char what[64];

	for (int n = 0; n < 2; n++) {
		snprintf(what, sizeof what, "%s thread %d", who, n);
		check(what, owns[n].at, OWN, 10 + n);
		where(what, owns[n].at, OWN);
	}
	snprintf(what, sizeof what, "%s bound", who);
	check(what, bound, OWN, 20);
	where(what, page_of(bound), OWN - 2 * PAGE);
	policy(what, page_of(bound));
	snprintf(what, sizeof what, "%s spread", who);
	check(what, spread, OWN, 21);
	where(what, page_of(spread), OWN - 2 * PAGE);
	policy(what, page_of(spread));
}

static void forks(int keep_threads)
{
	struct own owns[2] = {{0, NULL}, {1, NULL}};
	pthread_t thread[2];
	char *bound, *spread;
	int status;
	pid_t pid;

	run_on(0);
	pthread_barrier_init(&all_here, NULL, 3);
	for (int n = 0; n < 2; n++)
		pthread_create(&thread[n], NULL, has_own, &owns[n]);
	pthread_barrier_wait(&all_here);
	bound = block(OWN);
	bind(page_of(bound), OWN - 2 * PAGE, BIND, &SECOND, 0);
	fill(bound, OWN, 20);
	spread = block(OWN);
	bind(page_of(spread), OWN - 2 * PAGE, INTERLEAVE, &BOTH, 0);
	fill(spread, OWN, 21);
	if (!keep_threads) {
		pthread_barrier_wait(&all_here);
		for (int n = 0; n < 2; n++)
			pthread_join(thread[n], NULL);
	}
	review("before", owns, bound, spread);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		review("child", owns, bound, spread);
		fill(bound, OWN, 30);
		where("child wrote bound", page_of(bound), OWN - 2 * PAGE);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child");
	review("after", owns, bound, spread);
	fill(bound, OWN, 20);
	where("after wrote bound", page_of(bound), OWN - 2 * PAGE);
	if (keep_threads) {
		pthread_barrier_wait(&all_here);
		for (int n = 0; n < 2; n++)
			pthread_join(thread[n], NULL);
	}
}

/* Ends the process for calls that it does not make, as a service may have it. */
static void forbid_policies(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("seccomp");
}

static void filtered(void)
{
	char *at = block(OWN);
	int status;
	pid_t pid;

	run_on(0);
	fill(at, OWN, 40);
	run_on(1);
	forbid_policies();
	pid = fork();
	if (pid == 0) {
		check("child", at, OWN, 40);
		fill(at, OWN, 41);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child");
	check("filtered", at, OWN, 40);
}

/* A thread of one node asks for what that node has not, all the time. */
static void *asks(void *arg)
{
	(void)arg;
	run_on(1);
	if (set_mempolicy(BIND, &SECOND, 64))
		fail("set_mempolicy");
	for (int i = 0; i < 4; i++) {
		char *at = block(24 * MB);

		memset(at, 1, 24 * MB);
		if (i == 3)
			where("asks", at, 24 * MB);
		pthread_barrier_wait(&all_here);
		pthread_barrier_wait(&all_here);
	}
	return NULL;
}

static void thread_policies(void)
{
	pthread_t thread;

	run_on(0);
	pthread_barrier_init(&all_here, NULL, 2);
	pthread_create(&thread, NULL, asks, NULL);
	for (int i = 0; i < 4; i++) {
		char *at;

		pthread_barrier_wait(&all_here);
		at = block(24 * MB);
		memset(at, 1, 24 * MB);
		if (i == 3)
			where("beside", at, 24 * MB);
		pthread_barrier_wait(&all_here);
	}
	pthread_join(thread, NULL);
}

enum { SHARED = 32 * MB };

static char *shared(void)
{
	char *at = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

static void *fills_half(void *at)
{
	run_on(1);
	fill((char *)at + SHARED / 2, SHARED / 2, 3);
	return NULL;
}

static void shared_memory(void)
{
	char *at = shared();
	pthread_t thread;

	run_on(0);
	fill(at, SHARED / 2, 2);
	pthread_create(&thread, NULL, fills_half, at);
	pthread_join(thread, NULL);
	where("shared first", at, SHARED / 2);
	where("shared second", at + SHARED / 2, SHARED / 2);
	at = shared();
	fill(at, SHARED / 2, 4);
	bind(at, SHARED, BIND, &SECOND, MOVE);
	fill(at + SHARED / 2, SHARED / 2, 4);
	where("shared bound", at, SHARED);
	check("shared bound", at, SHARED / 2, 4);
	at = shared();
	bind(at + 3 * PAGE, SHARED / 2, BIND, &SECOND, STRICT);
	fill(at, SHARED, 5);
	where("shared part", at + 3 * PAGE, SHARED / 2);
	check("shared part", at, SHARED, 5);
	at = shared();
	bind(at, SHARED, INTERLEAVE, &BOTH, 0);
	fill(at, SHARED, 6);
	where("shared spread", at, SHARED);
	check("shared spread", at, SHARED, 6);
}

/* Variables, all of which hugectl puts on huge pages. */
static char variables[24 * MB];

static void data(void)
{
	char *at = variables + 4 * MB;
	pid_t pid;
	int status;

	run_on(0);
	fill(variables, sizeof variables, 7);
	where("data", at, 16 * MB);
	bind(page_of(at), 8 * MB, BIND, &SECOND, MOVE);
	where("data bound", page_of(at), 8 * MB);
	pid = fork();
	if (pid == 0) {
		check("child", variables, sizeof variables, 7);
		fill(variables, sizeof variables, 8);
		where("child bound", page_of(at), 8 * MB);
		policy("child bound", page_of(at));
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child");
	check("data", variables, sizeof variables, 7);
	where("after bound", page_of(at), 8 * MB);
}

/* The policy of a thread is that of its memory, for as long as it has it. */
static void own_policy(void)
{
	char *at;

	run_on(0);
	if (set_mempolicy(BIND, &SECOND, 64))
		fail("set_mempolicy");
	at = block(32 * MB);
	fill(at, 32 * MB, 1);
	where("set", at, 32 * MB);
	if (set_mempolicy(0, NULL, 0))
		fail("set_mempolicy");
	where("kept", at, 32 * MB);
	at = block(32 * MB);
	fill(at, 32 * MB, 1);
	where("unset", at, 32 * MB);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	nodes = nodes_of_machine();
	if (!strcmp(what, "blocks")) {
		run_on(0);
		free(block(40 * MB));
		blocks("main");
	} else if (!strcmp(what, "block")) {
		size_t len = strtoul(argv[2], NULL, 0) * MB;
		char *at = block(len);

		memset(at, 1, len);
		where("block", at, len);
	} else if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "binds")) {
		binds();
	} else if (!strcmp(what, "policies")) {
		thread_policies();
	} else if (!strcmp(what, "filtered")) {
		filtered();
	} else if (!strcmp(what, "migrate")) {
		migrates();
	} else if (!strcmp(what, "shared")) {
		shared_memory();
	} else if (!strcmp(what, "data")) {
		data();
	} else if (!strcmp(what, "policy")) {
		own_policy();
	} else if (!strcmp(what, "fork")) {
		forks(0);
	} else if (!strcmp(what, "fork-threads")) {
		forks(1);
	} else {
		return 2;
	}
	print_judged("end");
	return 0;
}
