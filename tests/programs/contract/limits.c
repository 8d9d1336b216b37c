/* A program that limits its own address space or data later on: what a plain
   run gets, it gets. Arguments: as or data, or start for data before it starts, MiB of the limit, MiB that it
   takes after it, MiB that it has taken before, MiB that it had taken and given back,
   in blocks of 20, two seconds and a half ago. */
#include "contract.h"
#include <sys/resource.h>

static void *nothing(void *argument)
{
	return argument;
}

int main(int argc, char **argv)
{
	int which = argc > 1 && !strcmp(argv[1], "data") ? RLIMIT_DATA : RLIMIT_AS;
	size_t wanted = (size_t)number(argc, argv, 3, 150), had, i, k;
	rlim_t limit = (rlim_t)number(argc, argv, 2, 768) << 20;
	struct rlimit both = {limit, limit};
	unsigned char **block;
	pthread_t thread;
	int error;
	pid_t child;

	if (argc > 2 && !strcmp(argv[1], "start")) {
		CHECK(!setrlimit(RLIMIT_DATA, &both));
		argv[1] = "data";
		execv("/proc/self/exe", argv);
		fail("cannot start again: %s", strerror(errno));
	}
	free(get(100));
	fill_heap((size_t)number(argc, argv, 4, 0));
	had = (size_t)number(argc, argv, 5, 0) / 20;
	block = get((had + 1) * sizeof *block);
	for (i = 0; i < had; i++)
		memset(block[i] = get(20 * MIB), 1, 20 * MIB);
	for (i = 0; i < had; i++)
		free(block[i]);
	for (i = 0; had && i < 25; i++) {
		usleep(100000);
		free(block);
		block = get(100);
	}
	free(block);
	CHECK(!setrlimit(which, &both));
	block = get(wanted * sizeof *block);
	for (i = 0; i < wanted; i++) {
		if (!(block[i] = malloc(MIB)))
			fail("no memory after %zu of %zu MiB (errno %d)", i, wanted, errno);
		memset(block[i], (int)i, MIB);
	}
	if ((error = pthread_create(&thread, NULL, nothing, NULL)))
		fail("no thread: %s", strerror(error));
	pthread_join(thread, NULL);
	child = fork();
	if (child < 0)
		fail("no fork: %s", strerror(errno));
	if (!child)
		_exit(0);
	wait_for(child, "fork");
	for (i = 0; i < wanted; i++) {
		for (k = 0; k < MIB; k += 512)
			CHECK(block[i][k] == (unsigned char)i);
		free(block[i]);
	}
	check_heap("parent");
	right();
}
