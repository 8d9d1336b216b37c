/* Limits its data (RLIMIT_DATA), or with `start` executes itself again under the limit. It must
   get as much memory as without us. Arguments: now|start, limit in MiB, MiB to take under it, MiB
   taken before. */
#include "contract.h"
#include <sys/resource.h>

static void *nothing(void *argument)
{
	return argument;
}

int main(int argc, char **argv)
{
	size_t wanted = (size_t)number(argc, argv, 3, 150), i, k;
	rlim_t limit = (rlim_t)number(argc, argv, 2, 768) << 20;
	struct rlimit both = {limit, limit};
	unsigned char **block;
	pid_t child;

	if (argc > 2 && !strcmp(argv[1], "start")) {
		CHECK(!setrlimit(RLIMIT_DATA, &both));
		argv[1] = "now";
		execv("/proc/self/exe", argv);
		fail("exec: errno %d", errno);
	}
	fill_heap((size_t)number(argc, argv, 4, 0));
	CHECK(!setrlimit(RLIMIT_DATA, &both));
	block = get(wanted * sizeof *block);
	for (i = 0; i < wanted; i++) {
		if (!(block[i] = malloc(MIB)))
			fail("no memory after %zu of %zu MiB (errno %d)", i, wanted, errno);
		memset(block[i], (int)i, MIB);
	}
	CHECK(!pthread_join(start(nothing, NULL), NULL));
	child = fork();
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
