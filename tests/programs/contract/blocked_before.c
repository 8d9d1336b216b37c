/* A thread that has blocked all signals while the heap was still small, and another
   one that inherits that: they allocate, and write to pages of the pool that a child
   shares and of which there is no second one. */
#include "contract.h"
#include "unseen.h"

static pthread_barrier_t ready, go;

static void *write_all(void *argument)
{
	sigset_t now;
	void *block = get(100000);

	memset(block, 1, 100000);
	write_heap();
	free(block);
	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &now));
	CHECK(sigismember(&now, SIGBUS) == 1 && sigismember(&now, SIGSEGV) == 1 && sigismember(&now, SIGALRM) == 1);
	return argument;
}

static void *block_early(void *argument)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&go);
	CHECK(!pthread_join(start(write_all, NULL), NULL));
	write_all(NULL);
	return argument;
}

int main(void)
{
	pthread_t other;
	pid_t child;

	pthread_barrier_init(&ready, NULL, 2);
	pthread_barrier_init(&go, NULL, 2);
	other = start(block_early, NULL);
	pthread_barrier_wait(&ready);
	fill_heap(40);
	child = unseen_child();
	use_up_pool();
	pthread_barrier_wait(&go);
	CHECK(!pthread_join(other, NULL));
	check_heap("parent");
	end_unseen(child);
	right();
}
