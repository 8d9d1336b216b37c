/* Four threads in a ring: each allocates and fills blocks and passes them to the next, which
   keeps them for a while, checks and frees them.

   pass MIB: memory held by all threads */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "bench.h"

#define THREADS 4
#define ROOM 256 /* blocks in a queue */
#define MEAN 9000 /* about the mean size of a block */

struct block {
	size_t size;
	unsigned char bytes[];
};

static struct queue {
	_Atomic(size_t) sent, taken;
	struct block *slot[ROOM];
} queue[THREADS];

static size_t blocks; /* kept by each thread */

static struct block *make(uint64_t *s)
{
	uint64_t r = next_of(s);
	size_t size = r % 16 ? 32 + (r >> 8) % 4000 : 4000 + (r >> 8) % 224000;
	struct block *b = need(malloc(sizeof *b + size));

	b->size = size;
	memset(b->bytes, (int)(unsigned char)size, size);
	return b;
}

static size_t check_and_free(struct block *b)
{
	size_t size;

	if (!b)
		return 0;
	size = b->size;
	if (b->bytes[0] != (unsigned char)size || b->bytes[size - 1] != (unsigned char)size)
		damaged("block of size", size);
	free(b);
	return size;
}

static int has_room(struct queue *q)
{
	return atomic_load_explicit(&q->sent, memory_order_relaxed) - atomic_load_explicit(&q->taken, memory_order_acquire) < ROOM;
}

static void send(struct queue *q, struct block *b)
{
	size_t n = atomic_load_explicit(&q->sent, memory_order_relaxed);

	q->slot[n % ROOM] = b;
	atomic_store_explicit(&q->sent, n + 1, memory_order_release);
}

/* Returns a block, or NULL. */
static struct block *receive(struct queue *q)
{
	size_t n = atomic_load_explicit(&q->taken, memory_order_relaxed);
	struct block *b;

	if (n == atomic_load_explicit(&q->sent, memory_order_acquire))
		return NULL;
	b = q->slot[n % ROOM];
	atomic_store_explicit(&q->taken, n + 1, memory_order_release);
	return b;
}

/* A thread sends as many blocks as it receives, and receives while its next queue is full, so there
   is no deadlock. */
static void *worker(void *arg)
{
	size_t me = (size_t)arg, total = 4 * blocks, sent = 0, got = 0, sum = 0, i;
	struct block **kept = need(calloc(blocks, sizeof *kept)), *b;
	struct queue *next = &queue[(me + 1) % THREADS];
	uint64_t s = 0x9e3779b97f4a7c15u * (me + 1);

	while (sent < total || got < total) {
		while ((b = receive(&queue[me]))) {
			sum += check_and_free(kept[got % blocks]);
			kept[got++ % blocks] = b;
		}
		for (i = 0; i < ROOM / 4 && sent < total && has_room(next); i++, sent++)
			send(next, make(&s));
		if (!i)
			sched_yield();
	}
	for (i = 0; i < blocks; i++)
		sum += check_and_free(kept[i]);
	free(kept);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	size_t sum = 0, i;

	blocks = bytes_of(argc, argv) / THREADS / MEAN;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, worker, (void *)i))
			return 3;
	for (i = 0; i < THREADS; i++) {
		void *part;

		pthread_join(thread[i], &part);
		sum += (size_t)part;
	}
	printf("%zu\n", sum);
	return 0;
}
