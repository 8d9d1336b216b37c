/* Sets filters of system calls in ways that the kernel refuses, as programs do that ask
   what it knows, and then uses memory. Arguments: what it does.

   asked   asks by each call
   left    a filter for all threads is refused, since one thread has another
   beside  one thread asks again and again, another one sets a filter */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's forms, since not every libc's compiler finds its headers. */
struct instruction {
	unsigned short code;
	unsigned char on, off;
	unsigned k;
};
struct filters {
	unsigned short count;
	struct instruction *first;
};
enum { STRICT, FILTER };
#define FOR_ALL 1

#define CHECK(what) ((what) ? (void)0 : (perror(#what), exit(1)))
#define ASKED 20000

static struct instruction allow = {0x06, 0, 0, 0x7fff0000};
static struct filters filter = {1, &allow};
static pthread_barrier_t begun, over;

static int failed(long result, int error)
{
	return result == -1 && errno == error;
}

static void ask(void)
{
	CHECK(failed(prctl(PR_SET_SECCOMP, 9, NULL), EINVAL));
	CHECK(failed(prctl(PR_SET_SECCOMP, 2, NULL), EFAULT));
	CHECK(failed(syscall(SYS_prctl, PR_SET_SECCOMP, 2, NULL), EFAULT));
	CHECK(failed(syscall(SYS_seccomp, STRICT, 1, NULL), EINVAL));
	CHECK(failed(syscall(SYS_seccomp, FILTER, 0, NULL), EFAULT));
	CHECK(failed(syscall(SYS_seccomp, FILTER, FOR_ALL, NULL), EFAULT));
}

static void *ask_often(void *argument)
{
	int i;

	pthread_barrier_wait(&begun);
	for (i = 0; i < ASKED; i++)
		CHECK(failed(syscall(SYS_seccomp, FILTER, 0, NULL), EFAULT));
	return argument;
}

/* Has a filter that nobody has seen come. */
static void *have_one(void *argument)
{
	long result = 0;

#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"((long)SYS_seccomp), "D"((long)FILTER), "S"(0L), "d"(&filter)
			 : "rcx", "r11", "memory");
#endif
	CHECK(!result);
	pthread_barrier_wait(&begun);
	pthread_barrier_wait(&over);
	return argument;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;
	volatile char *block;

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	pthread_barrier_init(&begun, NULL, 2);
	pthread_barrier_init(&over, NULL, 2);
	if (!strcmp(what, "asked")) {
		ask();
	} else if (!strcmp(what, "left")) {
		CHECK(!pthread_create(&thread, NULL, have_one, NULL));
		pthread_barrier_wait(&begun);
#ifdef __x86_64__
		CHECK(syscall(SYS_seccomp, FILTER, FOR_ALL, &filter) > 0);
#endif
		pthread_barrier_wait(&over);
		CHECK(!pthread_join(thread, NULL));
	} else {
		CHECK(!pthread_create(&thread, NULL, ask_often, NULL));
		pthread_barrier_wait(&begun);
		CHECK(!syscall(SYS_seccomp, FILTER, 0, &filter));
		CHECK(!pthread_join(thread, NULL));
	}
	CHECK((block = malloc(64 << 20)));
	memset((char *)block, 1, 64 << 20);
	puts("right");
	return 0;
}
