/* Threads at work while the process forks. */
#ifndef BESIDE_FORKS_H
#define BESIDE_FORKS_H
#include "contract.h"
#include <stdatomic.h>

#define FORKS 5

#ifdef C11
#include <threads.h>
#define THREAD thrd_t
#define BEGIN(thread, task) CHECK(thrd_create(&(thread), (thrd_start_t)(void (*)(void))(task), NULL) == thrd_success)
#define END(thread) CHECK(thrd_join(thread, NULL) == thrd_success)
#else
#define THREAD pthread_t
#define BEGIN(thread, task) ((thread) = start(task, NULL))
#define END(thread) CHECK(!pthread_join(thread, NULL))
#endif

/* The threads are to end. */
static _Atomic int stop;

/* What is taken from now on is not among the first blocks of the heap, on base pages. */
static void take_many(void)
{
	int i;

	for (i = 0; i < 3000; i++)
		memset(get(4096), 1, 4096);
}

/* Runs a task in each thread, and forks meanwhile, on a large heap. */
static void beside_forks(void *(*const *tasks)(void *), int count)
{
	THREAD thread[8];
	int k;

	CHECK(count <= 8);
	for (k = 0; k < count; k++)
		BEGIN(thread[k], tasks[k]);
	for (k = 0; k < FORKS; k++) {
		pid_t child;

		usleep(k ? 30000 : 200000);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	stop = 1;
	for (k = 0; k < count; k++)
		END(thread[k]);
	check_heap("parent");
}

#endif
