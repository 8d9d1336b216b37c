/* A thread is in a callback of dl_iterate_phdr, for which the loader's list is locked;
   no libc makes that lock anew in the child of a fork. What others do meanwhile waits
   for nobody. The argument: `child`, which calls what the program has not called before;
   `maps`, which maps memory there; `exit`, `end`: it ends, as the program does at once
   then, while the thread still looks; `held`: the callback waits for a lock of who calls
   such a function, or maps. */
#include "contract.h"
#include <fcntl.h>
#include <link.h>
#include <sys/resource.h>

static volatile int is_in, goes_on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int look(struct dl_phdr_info *info UNUSED, size_t size UNUSED, void *way UNUSED)
{
	is_in = 1;
	while (!goes_on)
		usleep(100);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 1;
}

static void *run(void *way)
{
	dl_iterate_phdr(look, way);
	return way;
}

static void call(const char *way)
{
	struct rlimit limit;

	if (!strcmp(way, "maps") || !strcmp(way, "held")) {
		CHECK(mmap(NULL, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	}
	if (!strcmp(way, "child") || !strcmp(way, "held")) {
		CHECK(fcntl(1, F_GETFD) >= 0);
		CHECK(!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_max > 0);
	}
	if (!strcmp(way, "exit"))
		exit(0);
}

int main(int count, char **words)
{
	const char *way = count > 1 ? words[1] : "child";
	pthread_t thread;
	pid_t child;
	int status;

	/* As long as libraries that come later are looked for at most. */
	usleep(250000);
	CHECK(!pthread_create(&thread, NULL, run, NULL));
	while (!is_in)
		usleep(100);
	if (!strcmp(way, "held")) {
		pthread_mutex_lock(&lock);
		goes_on = 1;
		usleep(10000);
		call(way);
		pthread_mutex_unlock(&lock);
		CHECK(!pthread_join(thread, NULL));
		right();
	}
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		call(way);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	right();
}
