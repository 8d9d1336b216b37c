/* Sets RLIMIT_DATA in the running program (`now`), or first executes itself again under the limit
   (`start`). The program must get as much memory under the limit as without the library.
   Arguments: now|start, limit in MiB, MiB to allocate under it, MiB to allocate before. */
#include "contract.h"
#include <sys/resource.h>

static void *return_argument(void *argument)
{
	return argument;
}

int main(int argc, char **argv)
{
	size_t mib = (size_t)number(argc, argv, 3, 150), i, k;
	rlim_t limit = (rlim_t)number(argc, argv, 2, 768) << 20;
	struct rlimit data_limit = {limit, limit};
	unsigned char **blocks;
	pid_t child;

	if (argc > 2 && !strcmp(argv[1], "start")) {
		CHECK(!setrlimit(RLIMIT_DATA, &data_limit));
		argv[1] = "now";
		execv("/proc/self/exe", argv);
		fail("exec: errno %d", errno);
	}
	fill_heap((size_t)number(argc, argv, 4, 0));
	CHECK(!setrlimit(RLIMIT_DATA, &data_limit));
	blocks = get(mib * sizeof *blocks);
	for (i = 0; i < mib; i++) {
		if (!(blocks[i] = malloc(MIB)))
			fail("no memory after %zu of %zu MiB (errno %d)", i, mib, errno);
		memset(blocks[i], (int)i, MIB);
	}
	CHECK(!pthread_join(start(return_argument, NULL), NULL));
	child = fork();
	if (!child)
		_exit(0);
	wait_for(child, "fork");
	for (i = 0; i < mib; i++) {
		for (k = 0; k < MIB; k += 512)
			CHECK(blocks[i][k] == (unsigned char)i);
		free(blocks[i]);
	}
	check_heap("parent");
	pass();
}
