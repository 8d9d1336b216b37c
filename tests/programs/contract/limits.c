/* A program that limits its own address space or data later on: what a plain
   run gets, it gets. Arguments: as or data, MiB of the limit, MiB that it
   takes after it, MiB that it has taken before. */
#include "contract.h"
#include <sys/resource.h>

static void *nothing(void *argument)
{
	return argument;
}

int main(int argc, char **argv)
{
	int which = argc > 1 && !strcmp(argv[1], "data") ? RLIMIT_DATA : RLIMIT_AS;
	size_t wanted = (size_t)number(argc, argv, 3, 150), i, k;
	rlim_t limit = (rlim_t)number(argc, argv, 2, 768) << 20;
	struct rlimit both = {limit, limit};
	unsigned char **block;
	pthread_t thread;
	int error;
	pid_t child;

	free(get(100));
	fill_heap((size_t)number(argc, argv, 4, 0));
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
