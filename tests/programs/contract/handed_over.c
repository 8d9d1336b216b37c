/* What the kernel hands over once, in other threads while the process forks: ends of
   children, connections, what has happened to descriptors. None of it is lost. */
#include "contract.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

#define FORKS 5

static _Atomic int stop;

/* A block of the heap that is not among its first ones, on base pages. */
static void *place(void)
{
	int i;

	for (i = 0; i < 3000; i++)
		memset(get(4096), 1, 4096);
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

int main(void)
{
	void *(*const tasks[])(void *) = {wait_for_children, accept_some, accept_some};
	pthread_t thread[3];
	int k;

	fill_heap(60);
	for (k = 0; k < 3; k++)
		thread[k] = start(tasks[k], NULL);
	for (k = 0; k < FORKS; k++) {
		pid_t child;

		usleep(k ? 30000 : 200000);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			check_heap("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	stop = 1;
	for (k = 0; k < 3; k++)
		CHECK(!pthread_join(thread[k], NULL));
	check_heap("parent");
	right();
}
