/* A library whose constructor ran before ours has a handler of forks, given to libc past
   ours, so that it runs after ours, beside a registered buffer: it writes to the heap itself, and waits until
   another thread has written to it. Both must get on, and neither loses what it wrote.
   Built twice: as that library with -DLIBRARY. */
#include "contract.h"
#include "ring.h"
#include <dlfcn.h>
#include <semaphore.h>

extern sem_t asked, answered;
extern volatile long *block;
extern volatile int is_used;

#ifdef LIBRARY
sem_t asked, answered;
volatile long *block;
volatile int is_used;

static void prepare(void)
{
	if (!is_used)
		return;
	block[0]++;
	sem_post(&asked);
	while (sem_wait(&answered))
		;
}

typedef int (*register_function)(void (*)(void), void (*)(void), void (*)(void), void *);

__attribute__((constructor)) static void begin(void)
{
#ifdef __GLIBC__
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), *own = dlsym(libc, "__register_atfork");
#else
	void *libc = dlopen("libc.so", RTLD_LAZY | RTLD_NOLOAD), *own = dlsym(libc, "pthread_atfork");
#endif

	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	CHECK(own && !((register_function)own)(prepare, NULL, NULL, NULL));
}
#else
#define FORKS 10

static void *answer(void *argument)
{
	for (;;) {
		while (sem_wait(&asked))
			;
		write_heap();
		block[MIB / 2 / sizeof *block]++;
		sem_post(&answered);
	}
	return argument;
}

int main(void)
{
	static struct ring ring;
	double begun, longest = 0;
	int i;

	fill_heap(60);
	block = get(MIB);
	memset((void *)block, 0, MIB);
	start(answer, NULL);
	if (ring_begin(&ring, memset(get_aligned(4096, 65536), 0, 65536), 65536)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	is_used = 1;
	for (i = 1; i <= FORKS; i++) {
		begun = seconds();
		pid_t child = fork();

		if (!child) {
			check_heap("child");
			_exit(0);
		}
		if (seconds() - begun > longest)
			longest = seconds() - begun;
		wait_for(child, "fork");
		CHECK(block[0] == i && block[MIB / 2 / sizeof *block] == i);
	}
	if (getenv("CONTRACT_TIMES"))
		fprintf(stderr, "longest fork: %.1f ms\n", longest * 1000);
	check_heap("parent");
	right();
}
#endif
