/* Forks beside a buffer that is registered with io_uring, by a thread that has blocked
   SIGSEGV and nothing else. In the child libc touches the streams, blocks of the heap,
   before any library's handler runs there. Argument: whether it is one child, which is
   process 1 of a name space of its own. */
#include "contract.h"
#include "ring.h"
#include <sched.h>

#define LENGTH 65536
#define STREAMS 40

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int is_apart = number(argc, argv, 1, 0);
	struct ring ring;
	FILE *stream[STREAMS];
	char *buffer;
	sigset_t one;
	int i;

	fill_heap(60);
	buffer = get_aligned(4096, LENGTH);
	for (i = 0; i < STREAMS; i++)
		CHECK((stream[i] = fopen("/dev/null", "w")) && fputc('a', stream[i]) == 'a');
	if (ring_begin(&ring, buffer, LENGTH)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	/* Where there are other threads no such name space can be had. */
	if (!is_apart)
		start(wait_long, NULL);
	CHECK(!sigemptyset(&one) && !sigaddset(&one, SIGSEGV) && !pthread_sigmask(SIG_BLOCK, &one, NULL));
	for (i = 0; i < (is_apart ? 1 : 5); i++) {
		sigset_t now;
		pid_t child;

		if (is_apart && unshare(CLONE_NEWPID)) {
			CHECK(errno == EPERM || errno == ENOSPC);
			break;
		}
		child = fork();
		if (!child) {
			CHECK(!fflush(NULL));
			write_heap();
			check_heap("child");
		}
		CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &now));
		CHECK(sigismember(&now, SIGSEGV) == 1 && !sigismember(&now, SIGBUS) && !sigismember(&now, SIGALRM));
		if (!child)
			_exit(0);
		wait_for(child, "fork");
	}
	check_heap("parent");
	right();
}
