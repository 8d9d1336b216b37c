/* Random calls of malloc's family: threads fill, check, resize and free blocks of all sizes, and
   swap some with each other. A forked child uses the blocks of its thread.

   torture SECONDS [MiB [SEED]] */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define SLOTS 4000
#define SHARED 512

struct block {
	unsigned char *p;
	size_t size;
	uint32_t mark;
};

struct worker {
	uint64_t random;
	struct block slot[SLOTS];
	size_t bytes, operations, forks, handed, refused;
};

static struct worker worker[THREADS];
static struct block shared[SHARED];
static pthread_mutex_t shared_lock[SHARED];
static size_t limit = 400ul << 20;
static time_t end;

static void fail(const char *what, const struct block *b)
{
	fprintf(stderr, "torture: %s: %p, %zu bytes, mark %x\n", what, (void *)b->p, b->size, b->mark);
	abort();
}

static uint64_t next(struct worker *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static uint64_t below(struct worker *w, uint64_t n)
{
	return (next(w) >> 11) % n;
}

/* Half of all blocks are tiny; one of 2000 has up to 40 MiB. */
static size_t any_size(struct worker *w)
{
	switch (below(w, 64)) {
	case 0 ... 31: return below(w, 256);
	case 32 ... 54: return below(w, 4096);
	case 55 ... 61: return below(w, 64 << 10);
	case 62: return below(w, 512 << 10);
	}
	return below(w, below(w, 32) ? 2 << 20 : 40 << 20);
}

static unsigned char byte_at(const struct block *b, size_t i)
{
	return (unsigned char)(b->mark + i * 131 + (i >> 12));
}

/* All bytes of small blocks; the ends and some bytes of each page of large ones. */
static size_t stride(const struct block *b, size_t i)
{
	return i < 512 || i + 512 > b->size || b->size < 8192 ? 1 : 509;
}

static void fill(const struct block *b)
{
	size_t i;

	for (i = 0; i < b->size; i += stride(b, i))
		b->p[i] = byte_at(b, i);
}

static void check(const struct block *b)
{
	size_t i;

	for (i = 0; i < b->size; i += stride(b, i))
		if (b->p[i] != byte_at(b, i))
			fail("damaged", b);
}

/* Checks the contents after realloc. */
static void check_part(const struct block *was, const unsigned char *now, size_t size)
{
	size_t i;

	for (i = 0; i < was->size && i < size; i += stride(was, i))
		if (now[i] != byte_at(was, i))
			fail("lost by realloc", was);
}

static void check_zero(const struct block *b)
{
	size_t i;

	for (i = 0; i < b->size; i += b->size < 65536 ? 1 : 61)
		if (b->p[i])
			fail("not zero", b);
}

static void drop(struct worker *w, struct block *b)
{
	check(b);
	free(b->p);
	w->bytes -= b->size;
	memset(b, 0, sizeof *b);
}

static void *aligned(struct worker *w, size_t size)
{
	size_t alignment = (size_t)8 << below(w, below(w, 8) ? 10 : 20);
	void *p = NULL;

	if (posix_memalign(&p, alignment, size))
		return NULL;
	if ((uintptr_t)p % alignment) {
		fprintf(stderr, "torture: %p is not at a multiple of %zu\n", p, alignment);
		abort();
	}
	return p;
}

static void take(struct worker *w, struct block *b)
{
	struct block new = {NULL, any_size(w), (uint32_t)next(w)};
	int kind = (int)below(w, 4);

	new.p = kind == 0 ? calloc(1, new.size) : kind == 1 ? aligned(w, new.size) : malloc(new.size);
	if (!new.p) {
		w->refused++;
		return;
	}
	if (kind == 0)
		check_zero(&new);
	fill(&new);
	w->bytes += new.size;
	*b = new;
}

static void change(struct worker *w, struct block *b)
{
	struct block new = *b;

	new.size = below(w, 2) ? any_size(w) : b->size + b->size / 2 + 1;
	if (new.size > 200ul << 20)
		new.size = 1;
	new.size += new.size == 0;
	new.p = realloc(b->p, new.size);
	if (!new.p) {
		w->refused++;
		return;
	}
	check_part(b, new.p, new.size);
	w->bytes += new.size - b->size;
	new.mark = (uint32_t)next(w);
	fill(&new);
	*b = new;
}

/* Swaps a block with a slot that all threads share. */
static void hand_over(struct worker *w, struct block *b)
{
	size_t place = below(w, SHARED);
	struct block other;

	pthread_mutex_lock(&shared_lock[place]);
	other = shared[place];
	shared[place] = *b;
	pthread_mutex_unlock(&shared_lock[place]);
	w->bytes += other.size - b->size;
	w->handed++;
	*b = other;
	if (b->p)
		check(b);
}

static void step(struct worker *w)
{
	struct block *b = &w->slot[below(w, SLOTS)];

	w->operations++;
	if (!b->p) {
		if (w->bytes < limit / THREADS)
			take(w, b);
		return;
	}
	switch (below(w, 8)) {
	case 0: case 1: change(w, b); break;
	case 2: case 3: hand_over(w, b); break;
	default: drop(w, b);
	}
}

/* Frees nearly all blocks. */
static void let_go(struct worker *w)
{
	size_t i;

	for (i = 0; i < SLOTS; i++)
		if (w->slot[i].p && i % 97)
			drop(w, &w->slot[i]);
}

/* The child uses the blocks of its thread only. */
static void child(struct worker *w)
{
	size_t i;

	for (i = 0; i < SLOTS; i++)
		if (w->slot[i].p)
			check(&w->slot[i]);
	for (i = 0; i < 2000; i++) {
		struct block *b = &w->slot[below(w, SLOTS)];

		if (!b->p)
			take(w, b);
		else if (below(w, 3))
			drop(w, b);
		else
			change(w, b);
	}
	_exit(0);
}

static void have_child(struct worker *w)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		child(w);
	if (pid < 0)
		return;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	w->forks++;
	if (status) {
		fprintf(stderr, "torture: a child ended with status %x\n", status);
		abort();
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	size_t i;

	while (time(NULL) < end) {
		for (i = 0; i < 2000; i++)
			step(w);
		if (below(w, 64) == 0)
			let_go(w);
		if (below(w, 16) == 0)
			have_child(w);
	}
	for (i = 0; i < SLOTS; i++)
		if (w->slot[i].p)
			drop(w, &w->slot[i]);
	return NULL;
}

/* Blocks in `shared` outlive the threads. */
static void round_of_threads(void)
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, &worker[i]))
			exit(3);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	time_t last = time(NULL) + (argc > 1 ? atol(argv[1]) : 10);
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)last;
	size_t operations = 0, forks = 0, handed = 0, refused = 0;
	int i;

	if (argc > 2)
		limit = (size_t)atol(argv[2]) << 20;
	for (i = 0; i < SHARED; i++)
		pthread_mutex_init(&shared_lock[i], NULL);
	for (i = 0; i < THREADS; i++)
		worker[i].random = seed * 0x9e3779b97f4a7c15ull + (uint64_t)i + 1;
	while (time(NULL) < last) {
		end = time(NULL) + 5 < last ? time(NULL) + 5 : last;
		round_of_threads();
	}
	for (i = 0; i < THREADS; i++) {
		operations += worker[i].operations;
		forks += worker[i].forks;
		handed += worker[i].handed;
		refused += worker[i].refused;
	}
	printf("operations=%zu forks=%zu handed=%zu refused=%zu seed=%llu\n", operations, forks, handed, refused,
	       (unsigned long long)seed);
	return 0;
}
