/* A timer's handler counts in a malloc'ed word, in a static one and in a page
   that is nobody's but the program's, while the main thread forks: no count is
   lost, and the child finds the three alike. With -DTABLE there is a bss that
   is worth huge pages. Arguments: other threads, MiB of heap, forks. */
#include "contract.h"
#include <sys/time.h>

#ifdef TABLE
static char table[40 << 20], table_of_data[24 << 20] = {1};
#endif
static volatile long in_bss, in_data = 1;
static volatile long *in_heap, *in_page;

static void count(int signal)
{
	(void)signal;
	(*in_page)++;
	(*in_heap)++;
	in_bss++;
	in_data++;
}

static void compare(const char *who)
{
	long page = *in_page;

	if (*in_heap != page || in_bss != page || in_data != page + 1)
		fail("%s: %ld signals, %ld in the heap, %ld in bss, %ld in data", who, page, *in_heap, in_bss, in_data - 1);
}

static void *wait_long(void *argument)
{
	for (;;)
		pause();
	return argument;
}

int main(int argc, char **argv)
{
	int threads = number(argc, argv, 1, 0), forks = number(argc, argv, 3, 3), i;
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	sigset_t alarm;

#ifdef TABLE
	memset(table, 1, sizeof table);
	memset(table_of_data, 2, sizeof table_of_data);
#endif
	fill_heap((size_t)number(argc, argv, 2, 64));
	in_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(in_page != MAP_FAILED);
	in_heap = calloc(1, 8192);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	for (i = 0; i < threads; i++)
		start(wait_long, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < forks; i++) {
		pid_t child = fork();

		if (!child) {
			compare("child");
			_exit(0);
		}
		wait_for(child, "fork");
	}
	setitimer(ITIMER_REAL, &never, NULL);
	compare("parent");
	CHECK(*in_page > 0);
	right();
}
