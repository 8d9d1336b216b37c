/* A library locks a mutex that it has from malloc before a fork, as many do;
   other threads are there. Built twice: as that library with -DLIBRARY. */
#include "contract.h"

void library_begin(void);

#ifdef LIBRARY
static pthread_mutex_t *mutex;

static void prepare(void)
{
	if (mutex)
		pthread_mutex_lock(mutex);
}

static void after(void)
{
	if (mutex)
		pthread_mutex_unlock(mutex);
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(prepare, after, after);
}

void library_begin(void)
{
	mutex = malloc(4096);
	pthread_mutex_init(mutex, NULL);
}
#else
static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int i, threads = number(argc, argv, 1, 1);

	fill_heap(64);
	library_begin();
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	for (i = 0; i < 3; i++) {
		pid_t child = fork();

		if (!child) {
			check_heap("child");
			write_heap();
			_exit(0);
		}
		wait_for(child, "fork");
	}
	write_heap();
	check_heap("parent");
	right();
}
#endif
