/* The constructor of a library runs before ours and sets fork handlers. They allocate, keep a block
   from `prepare` to `parent` and `child`, and lock a mutex in malloc's memory. With -DLIBRARY this
   is that library, otherwise the program. Arguments: MiB of heap, other threads. */
#include "contract.h"

void create_mutex(void);

#ifdef LIBRARY
static pthread_mutex_t *mutex;
static char *kept;

static void allocate(void)
{
	char *block[40];
	int i;

	for (i = 0; i < 40; i++)
		block[i] = memset(get(50000 + (size_t)i * 9000), 1, 50000 + (size_t)i * 9000);
	for (i = 0; i < 40; i++)
		free(block[i]);
}

static void prepare(void)
{
	allocate();
	kept = memset(get(200 << 10), 'k', 200 << 10);
	if (mutex)
		pthread_mutex_lock(mutex);
}

static void parent_and_child(void)
{
	if (mutex)
		pthread_mutex_unlock(mutex);
	CHECK(kept[0] == 'k' && kept[(200 << 10) - 1] == 'k');
	free(kept);
	allocate();
}

__attribute__((constructor)) static void register_handlers(void)
{
	pthread_atfork(prepare, parent_and_child, parent_and_child);
}

void create_mutex(void)
{
	mutex = get(4096);
	pthread_mutex_init(mutex, NULL);
}
#else
static void *sleep_forever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int i, mib = number(argc, argv, 1, 0), threads = number(argc, argv, 2, 0);

	fill_heap((size_t)mib);
	create_mutex();
	for (i = 0; i < threads; i++)
		start(sleep_forever, NULL);
	for (i = 0; i < 3; i++) {
		pid_t child = fork();

		if (!child) {
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	check_heap("parent");
	pass();
}
#endif
