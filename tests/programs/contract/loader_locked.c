/* During a fork a thread holds the loader's lock, in a callback of dl_iterate_phdr. glibc's fork
   doesn't reset that lock in the child, so no call there may make the library take it. `held`: the
   callback waits for a mutex while its owner makes such calls. */
#include "contract.h"
#include <link.h>

static volatile int is_in, goes_on;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int callback(struct dl_phdr_info *info UNUSED, size_t size UNUSED, void *data UNUSED)
{
	is_in = 1;
	while (!goes_on)
		usleep(100);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 1;
}

static void *iterate(void *unused)
{
	dl_iterate_phdr(callback, NULL);
	return unused;
}

static void call(void)
{
	void *at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED && !mprotect(at, MIB, PROT_READ) && !munmap(at, MIB));
	free(get(100000));
}

int main(int argc, char **argv UNUSED)
{
	pthread_t thread;
	pid_t child;

	thread = start(iterate, NULL);
	while (!is_in)
		usleep(100);
	/* Then the next check for new libraries is due. */
	usleep(250000);
	if (argc > 1) {
		pthread_mutex_lock(&lock);
		goes_on = 1;
		usleep(10000);
		call();
		pthread_mutex_unlock(&lock);
		CHECK(!pthread_join(thread, NULL));
		pass();
	}
	child = fork();
	if (!child) {
		call();
		_exit(0);
	}
	wait_for(child, "fork");
	goes_on = 1; /* The parent's report waits for the lock. */
	pass();
}
