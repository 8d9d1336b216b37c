/* A thread writes to many files and flushes all of them, which holds the
   lock that libc takes for a fork, while the main thread forks. Arguments:
   such threads. */
#include "contract.h"

#define FILES 200

static FILE *file[FILES];

static void *flush(void *argument)
{
	int i;

	for (;;) {
		for (i = 0; i < FILES; i++)
			fputc('x', file[i]);
		fflush(NULL);
		/* A stream that is opened takes the lock, and a buffer from malloc. */
		FILE *other = fopen("/dev/null", "w");

		if (other) {
			fputc('y', other);
			fclose(other);
		}
	}
	return argument;
}

int main(int argc, char **argv)
{
	int i, threads = number(argc, argv, 1, 1);

	fill_heap(64);
	for (i = 0; i < FILES; i++)
		CHECK((file[i] = fopen("/dev/null", "w")));
	for (i = 0; i < threads; i++)
		start(flush, NULL);
	usleep(20000);
	for (i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child) {
			FILE *own = fopen("/dev/null", "w");

			CHECK(own && fputc('c', own) == 'c' && !fclose(own));
			free(get(300000));
			_exit(0);
		}
		wait_for(child, "fork");
		usleep(500);
	}
	check_heap("parent");
	right();
}
