/* Mutexes with priority inheritance, and robust ones, in the heap, with threads
   that wait for them, before and after a fork. */
#include "contract.h"

static pthread_mutex_t *mutex[3];
static volatile int stop;
static long *sum[3];

static void *count(void *argument)
{
	int i;

	while (!stop)
		for (i = 0; i < 3; i++) {
			int error = pthread_mutex_lock(mutex[i]);

			if (error)
				fail("mutex %d: locking gives %d", i, error);
			(*sum[i])++;
			if (!(*sum[i] & 63))
				usleep(20);
			error = pthread_mutex_unlock(mutex[i]);
			if (error)
				fail("mutex %d: unlocking gives %d", i, error);
		}
	return argument;
}

static void use(long times)
{
	long before[3], i;
	double end = seconds() + 5;

	for (i = 0; i < 3; i++)
		before[i] = *(volatile long *)sum[i];
	for (i = 0; i < 3; i++)
		while (*(volatile long *)sum[i] < before[i] + times) {
			if (seconds() > end)
				fail("mutex %ld stands still", i);
			usleep(100);
		}
}

int main(int argc, char **argv)
{
	int i, round, threads = number(argc, argv, 1, 3);
	pthread_t thread[16];

	fill_heap(64);
	for (i = 0; i < 3; i++) {
		pthread_mutexattr_t attributes;

		pthread_mutexattr_init(&attributes);
		if (i < 2)
			CHECK(!pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
		if (i > 0)
			CHECK(!pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
		mutex[i] = get(5000);
		CHECK(!pthread_mutex_init(mutex[i], &attributes));
		sum[i] = calloc(1, sizeof(long));
	}
	/* A fork while nobody else is there: the heap may move. */
	for (round = 0; round < 3; round++) {
		pid_t child = fork();

		if (!child) {
			for (i = 0; i < 3; i++)
				CHECK(!pthread_mutex_lock(mutex[i]) && !pthread_mutex_unlock(mutex[i]));
			_exit(0);
		}
		wait_for(child, "fork");
		stop = 0;
		for (i = 0; i < threads; i++)
			thread[i] = start(count, NULL);
		use(200);
		/* And one while they are at work; a child of theirs has no use for them. */
		if (!(child = fork()))
			_exit(0);
		wait_for(child, "fork with threads");
		use(200);
		stop = 1;
		for (i = 0; i < threads; i++)
			pthread_join(thread[i], NULL);
	}
	check_heap("parent");
	right();
}
