/* Uses BYTES of the main stack and of threads' stacks and prints their huge pages, then checks how
   threads start and end.

   stack BYTES [main]
   main: only the main thread's stack */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include "smaps.h"

#define MB (1024 * 1024)

static __attribute__((noinline)) unsigned use(long bytes)
{
	volatile char part[32768];
	memset((void *)part, 1, sizeof part);
	unsigned below = bytes > (long)sizeof part ? use(bytes - sizeof part) : 0;
	return below + part[bytes & 32767];
}

static int is_guard(void *page)
{
	int ends[2];
	if (pipe(ends))
		return 0;
	int refused = write(ends[1], page, 1) < 0 && errno == EFAULT;
	close(ends[0]);
	close(ends[1]);
	return refused;
}

static void print_stack(const char *name, long bytes)
{
	pthread_attr_t attr;
	void *low;
	size_t len;
	struct range before, after;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &len);
	pthread_attr_destroy(&attr);
	before = read_range(low, len);
	use(bytes);
	after = read_range(low, len);
	printf("%s before=%lu after=%lu size=%zu maps=%d guard=%d\n", name, before.thp, after.thp, len >> 10,
	       after.mappings, is_guard((char *)low - 4096));
	fflush(stdout);
}

static void *thread(void *bytes)
{
	print_stack("thread", (long)bytes);
	return NULL;
}

static void *small(void *name)
{
	printf("%s works\n", (char *)name);
	return NULL;
}

static void *leaves(void *value)
{
	pthread_exit(value);
}

static int cleaned;

static void clean(void *unused)
{
	(void)unused;
	cleaned = 1;
}

static void *waits(void *unused)
{
	pthread_cleanup_push(clean, NULL);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return unused;
}

static void *adds(void *value)
{
	return (void *)((uintptr_t)value + use(50000) * 0 + 1);
}

static void ends(void)
{
	pthread_t id;
	void *value = NULL;
	pthread_create(&id, NULL, leaves, &cleaned);
	pthread_join(id, &value);
	printf("exit %d\n", value == &cleaned);
	pthread_create(&id, NULL, waits, NULL);
	usleep(20000);
	pthread_cancel(id);
	pthread_join(id, &value);
	printf("cancel %d %d\n", value == PTHREAD_CANCELED, cleaned);
}

static void many(void)
{
	enum { ALL = 300 };
	pthread_t ids[ALL];
	uintptr_t sum = 0;
	for (uintptr_t at = 0; at < ALL; at++)
		if (pthread_create(&ids[at], NULL, adds, (void *)at))
			exit(3);
	for (int at = 0; at < ALL; at++) {
		void *value;
		pthread_join(ids[at], &value);
		sum += (uintptr_t)value;
	}
	printf("many %d\n", sum == (uintptr_t)ALL * (ALL + 1) / 2);
}

static void run_thread(const char *name, pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
	pthread_t id;
	int error = pthread_create(&id, attr, run, argument);
	if (error)
		printf("%s: %s\n", name, strerror(error));
	else
		pthread_join(id, NULL);
}

int main(int argc, char **argv)
{
	long bytes = argc > 1 ? atol(argv[1]) : 0;
	pthread_attr_t attr;
	print_stack("main", bytes);
	fflush(stdout);
	if (argc > 2)
		return 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 8 * MB);
	run_thread("thread", &attr, thread, (void *)bytes);
	pthread_attr_setguardsize(&attr, 3 * MB);
	run_thread("guarded", &attr, thread, (void *)bytes);
	pthread_attr_destroy(&attr);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	run_thread("small", &attr, small, "small");
	pthread_attr_setstack(&attr, mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), 8 * MB);
	run_thread("own", &attr, small, "own");
	run_thread("default", NULL, small, "default");
	ends();
	many();
	return 0;
}
