/* A clone past libc while other threads are in the loader, whose locks stay with
   them: the child calls what it has never called before, and does not wait for
   ever. */
#include "contract.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/syscall.h>

static void *load(void *argument)
{
	for (;;)
		dlopen("/there/is/no/such/file.so", RTLD_NOW);
	return argument;
}

static int live(int zero)
{
	char bytes[16] = "x";
	sigset_t now;
	size_t i;

	CHECK(read(zero, bytes, sizeof bytes) == sizeof bytes && !bytes[0]);
	CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
	CHECK(!sigprocmask(SIG_BLOCK, NULL, &now));
	/* A page of each block: each write may want a page that the pool has not. */
	for (i = 0; i < heap_count; i++)
		CHECK(*(volatile unsigned char *)heap_blocks[i] == (unsigned char)i && (heap_blocks[i][0] = 7));
	return 0;
}

int main(void)
{
	int zero = open("/dev/zero", O_RDONLY), i;

	fill_heap(40);
	start(load, NULL);
	start(load, NULL);
	for (i = 0; i < 40; i++) {
		pid_t child;

#ifdef __s390x__
		child = (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
		child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
		if (!child)
			_exit(live(zero));
		wait_for(child, "clone");
	}
	check_heap("parent");
	right();
}
