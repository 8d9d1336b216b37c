/* During a fork a thread holds the loader's lock, in a callback of dl_iterate_phdr. glibc's fork
   doesn't reset that lock in the child, so our library must not take it in any call there.
   `held`: the callback waits for a mutex while its owner makes such calls. */
#include "contract.h"
#include <link.h>

static volatile int is_locked, may_return;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int callback(struct dl_phdr_info *info UNUSED, size_t size UNUSED, void *data UNUSED)
{
	is_locked = 1;
	while (!may_return)
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

static void map_and_allocate(void)
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
	while (!is_locked)
		usleep(100);
	/* Waits until the next check for new libraries is due. */
	usleep(250000);
	if (argc > 1) {
		pthread_mutex_lock(&lock);
		may_return = 1;
		usleep(10000);
		map_and_allocate();
		pthread_mutex_unlock(&lock);
		CHECK(!pthread_join(thread, NULL));
		pass();
	}
	child = fork();
	if (!child) {
		map_and_allocate();
		_exit(0);
	}
	wait_for(child, "fork");
	may_return = 1; /* The parent's report waits for the lock. */
	pass();
}
