/* The nodes of a program's memory, as move_pages(2) tells them, under memory policies. Each
   line names a range and its kilobytes on each node and on the pool. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "heap_pages.h"
#include "numa/forks.h"

/* Prints the nodes of many blocks of one size. */
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

static void *on_node(void *arg)
{
	int node = (int)(intptr_t)arg;
	char who[32], *at;

	run_on(node);
	pthread_barrier_wait(&all_here);
	at = block(48 * MB);
	memset(at, 1, 48 * MB);
	snprintf(who, sizeof who, "thread %d", node);
	where(who, at, 48 * MB);
	/* Otherwise another thread could get the freed block. */
	pthread_barrier_wait(&all_here);
	free(at);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[NODES];

	char *start[24]; /* makes the heap large */

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

static void binds(void)
{
	size_t len = 32 * MB, part = 16 * MB + 3 * PAGE;
	char *a, *b, *c, *d, *at;

	run_on(0);
	/* Part of a new block, not aligned to huge pages. */
	a = block(len);
	at = page_of(a) + 5 * PAGE;
	numa_tonode_memory(at, part, 1);
	fill(a, len, 1);
	where("fresh bound", at, part);
	where("fresh behind", at + part, len - part - 8 * PAGE);
	policy("fresh bound", at);
	policy("fresh behind", at + part);
	/* Filled first, then moved. */
	b = block(len);
	fill(b, len, 2);
	bind(page_of(b), len - 2 * PAGE, BIND, &SECOND, MOVE);
	where("moved bound", page_of(b), len - 2 * PAGE);
	check("moved", b, len, 2);
	/* Strict, before the first touch. */
	c = block(len);
	bind(page_of(c), len - 2 * PAGE, BIND, &SECOND, STRICT);
	fill(c, len, 3);
	where("strict bound", page_of(c), len - 2 * PAGE);
	d = block(len);
	bind(page_of(d), len - 2 * PAGE, INTERLEAVE, &BOTH, 0);
	fill(d, len, 4);
	where("interleaved", page_of(d), len - 2 * PAGE);
	/* A grown block. */
	b = realloc(b, 2 * len);
	check("grown", b, len, 2);
	fill(b, 2 * len, 2);
	where("grown bound", page_of(b), 2 * len - 2 * PAGE);
	check("fresh", a, len, 1);
	check("strict", c, len, 3);
	check("interleaved", d, len, 4);
	errno = 0;
	if (mbind(page_of(d), len / 2, 77, &BOTH, 64, 0) != -1 || errno != EINVAL)
		fail("an unknown mode");
	bind(page_of(d), len - 2 * PAGE, 0, NULL, 0);
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
}

/* On huge pages with --data. */
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

/* Memory keeps the policy that its thread had at the first touch. */
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
	} else if (!strcmp(what, "threads")) {
		threads();
	} else if (!strcmp(what, "binds")) {
		binds();
	} else if (!strcmp(what, "filtered")) {
		filtered();
	} else if (!strcmp(what, "shared")) {
		shared_memory();
	} else if (!strcmp(what, "data")) {
		data();
	} else if (!strcmp(what, "policy")) {
		own_policy();
	} else if (!strcmp(what, "fork-threads")) {
		forks();
	} else {
		return 2;
	}
	print_heap_pages("end");
	return 0;
}
