/* Heaps that grow from base pages to pages of a pool while the kernel moves base pages
   about to make room, as it does for a pool that is enlarged. Argument: how many, each in
   a process of its own. */
#include "contract.h"
#include <fcntl.h>
#include <sys/prctl.h>

#define BLOCK 5000
#define BLOCKS 12000

static void grow(char **argv)
{
	static unsigned char *block[BLOCKS];
	int i, k;

	for (i = 0; i < BLOCKS; i++) {
		block[i] = get(BLOCK);
		memset(block[i], 1 + i % 255, BLOCK);
	}
	for (i = 0; i < BLOCKS; i++)
		for (k = 0; k < BLOCK; k++)
			if (block[i][k] != 1 + i % 255)
				fail("%s: byte %d of block %d is %d", argv[0], k, i, block[i][k]);
	check_on_pool();
}

/* Has the kernel make room for as long as it lives. */
static pid_t compact(void)
{
	int file = open("/proc/sys/vm/compact_memory", O_WRONLY);
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It is root's to ask for that. */
	while (file >= 0 && write(file, "1", 1) == 1)
		;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int i, count = number(argc, argv, 1, 40);
	pid_t mover;

	if (!strcmp(argv[0], "heap")) {
		grow(argv);
		_exit(0);
	}
	mover = compact();
	for (i = 0; i < count; i++) {
		char *words[] = {(char *)"heap", NULL};
		pid_t child = vfork();

		if (!child) {
			execv("/proc/self/exe", words);
			_exit(3);
		}
		wait_for(child, "a heap");
	}
	CHECK(mover > 0 && !kill(mover, SIGKILL) && waitpid(mover, NULL, 0) == mover);
	right();
}
