/* What the kernel hands over once, in other threads while the process forks: ends of
   children, connections, what has happened to descriptors, counts of events, messages.
   None of it is lost. */
#include "beside_forks.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

/* A block of the heap that is not among its first ones, on base pages. */
static void *place(void)
{
	take_many();
	return get(40000);
}

static void *wait_for_children(void *argument)
{
	int *status = place();
	struct rusage *usage = place();
	siginfo_t *about = place();
	int k;

	for (k = 0; !stop; k++) {
		pid_t child = vfork(), got;

		if (!child)
			_exit(7);
		CHECK(child > 0);
		*status = 1;
		about->si_pid = 0;
		if (k % 3 == 0)
			got = waitpid(child, status, 0);
		else if (k % 3 == 1)
			got = wait4(child, status, 0, usage);
		else
			got = waitid(P_PID, (id_t)child, about, WEXITED) ? -1 : about->si_pid;
		if (k % 3 == 2)
			*status = about->si_status << 8;
		if (got != child || *status != 7 << 8)
			fail("call %d gives %d, status %#x (errno %d)", k % 3, (int)got, (unsigned)*status, errno);
	}
	return argument;
}

static void *accept_some(void *argument)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in *who = place();
	socklen_t len = sizeof at, *who_len = place();
	fd_set *set = place();
	int here = socket(AF_INET, SOCK_STREAM, 0), ready, k;

	CHECK(!bind(here, (void *)&at, len) && !listen(here, 9) && !getsockname(here, (void *)&at, &len));
	for (k = 0; !stop; k++) {
		int there = socket(AF_INET, SOCK_STREAM, 0), connection;
		struct linger at_once = {1, 0};

		CHECK(!connect(there, (void *)&at, len));
		FD_ZERO(set);
		FD_SET(here, set);
		if (k % 2)
			ready = select(here + 1, set, NULL, NULL, NULL);
		else
			ready = pselect(here + 1, set, NULL, NULL, NULL, NULL);
		if (ready != 1 || !FD_ISSET(here, set))
			fail("select gives %d (errno %d)", ready, errno);
		*who_len = sizeof *who;
		connection = accept(here, (void *)who, who_len);
		if (connection < 0 || *who_len != sizeof *who || who->sin_addr.s_addr != htonl(INADDR_LOOPBACK))
			fail("accept gives %d (errno %d)", connection, errno);
		CHECK(!setsockopt(there, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
		CHECK(!close(there) && !close(connection));
	}
	return argument;
}

/* Whether there is something to read. */
static int has_more(int file)
{
	struct pollfd one = {.fd = file, .events = POLLIN};

	return poll(&one, 1, 0) == 1;
}

static void *count_events(void *argument)
{
	uint64_t *count = place(), *message = place();
	uint64_t written = 0, read_so_far = 0, one = 1;
	int file = eventfd(0, 0), pair[2];

	CHECK(file >= 0 && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	while (!stop) {
		CHECK(write(file, &one, sizeof one) == sizeof one && ++written);
		if (!has_more(file) || read(file, count, sizeof *count) != sizeof *count)
			fail("no event (errno %d)", errno);
		read_so_far += *count;
		if (written != read_so_far)
			fail("%lu of %lu events", (unsigned long)read_so_far, (unsigned long)written);
		CHECK(send(pair[0], &written, sizeof written, 0) == sizeof written);
		message[0] = 0;
		if (!has_more(pair[1]) || recv(pair[1], message, 400, MSG_DONTWAIT) != sizeof written || *message != written)
			fail("no message (errno %d)", errno);
	}
	return argument;
}

int main(void)
{
	void *(*const tasks[])(void *) = {wait_for_children, accept_some, count_events};

	fill_heap(60);
	beside_forks(tasks, 3);
	right();
}
