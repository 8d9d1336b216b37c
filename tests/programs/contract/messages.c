/* Messages of ours where nobody can take them. `pipe`, `file`, `full` or
   `closed`, then COMMAND…: runs it with a standard error whose reader is gone,
   a file that may not grow, a pipe that nobody empties, or none. `heap`: a heap
   larger than any pool of a test, of which there is something to say. */
#include "contract.h"
#include <fcntl.h>
#include <sys/resource.h>

static void spoil(const char *how)
{
	struct rlimit none = {0, 0};
	char name[] = "/tmp/contract-XXXXXX", block[4096] = {0};
	int pair[2];

	CHECK(!pipe(pair));
	if (!strcmp(how, "pipe")) {
		CHECK(dup2(pair[1], 2) == 2);
		close(pair[0]);
		close(pair[1]);
	} else if (!strcmp(how, "full")) {
		CHECK(!fcntl(pair[1], F_SETFL, O_NONBLOCK));
		while (write(pair[1], block, sizeof block) > 0)
			;
		CHECK(errno == EAGAIN && !fcntl(pair[1], F_SETFL, 0));
		CHECK(dup2(pair[1], 2) == 2);
		/* Its other end stays open, and nobody reads. */
		close(pair[1]);
	} else if (!strcmp(how, "file")) {
		int file = mkstemp(name);

		CHECK(file >= 0 && !unlink(name) && dup2(file, 2) == 2);
		close(file);
		close(pair[0]);
		close(pair[1]);
		CHECK(!setrlimit(RLIMIT_FSIZE, &none));
	} else {
		close(2);
		close(pair[0]);
		close(pair[1]);
	}
}

int main(int argc, char **argv)
{
	char text[1000];
	int status, pair[2];
	ssize_t got;
	pid_t child;

	CHECK(argc > 1);
	if (!strcmp(argv[1], "heap")) {
		fill_heap(80);
		if (!(child = fork())) {
			write_heap();
			_exit(0);
		}
		wait_for(child, "fork");
		check_heap("parent");
		right();
	}
	/* What it says comes by a pipe, since a file may not grow. */
	CHECK(!pipe(pair));
	if (!(child = fork())) {
		CHECK(dup2(pair[1], 1) == 1);
		close(pair[0]);
		close(pair[1]);
		spoil(argv[1]);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	close(pair[1]);
	while ((got = read(pair[0], text, sizeof text)) > 0)
		CHECK(write(1, text, (size_t)got) == got);
	CHECK(waitpid(child, &status, 0) == child);
	if (status)
		fail("the status is %#x", (unsigned)status);
	return 0;
}
