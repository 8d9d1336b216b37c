/* Requests private memory by the named calls and prints each result.

   required_anon CALL...   with CALL: map (16 MiB), small (1 MiB), reserve (mprotect of PROT_NONE
   memory), grow (mremap), thread (stack of 8 MiB), tiny (stack of 1 MiB); off disables transparent
   huge pages by prctl */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define MIB ((size_t)1 << 20)
#define OPEN (PROT_READ | PROT_WRITE)

static void say(const char *what, int error)
{
	printf("%s: %s\n", what, !error ? "ok" : error == ENOMEM ? "ENOMEM" :
	       error == EAGAIN ? "EAGAIN" : error == -1 ? "contents lost" : "another error");
}

static void *map(void *at, size_t len, int prot)
{
	void *got = mmap(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (got != MAP_FAILED && prot & PROT_WRITE)
		memset(got, 1, len);
	return got;
}

static int error_of(void *got)
{
	return got == MAP_FAILED ? errno : 0;
}

static void *nothing(void *unused)
{
	return unused;
}

static int thread(size_t stack)
{
	pthread_attr_t attributes;
	pthread_t id;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack);
	error = pthread_create(&id, &attributes, nothing, NULL);
	if (!error)
		pthread_join(id, NULL);
	return error;
}

static int grow(void)
{
	char *at = map(NULL, MIB, OPEN), *now;

	if (at == MAP_FAILED)
		return errno;
	now = mremap(at, MIB, 16 * MIB, MREMAP_MAYMOVE);
	if (now == MAP_FAILED)
		return at[MIB - 1] == 1 ? errno : -1;
	return now[MIB - 1] == 1 ? 0 : -1;
}

int main(int argc, char **argv)
{
	char *reserved = map(NULL, 64 * MIB, PROT_NONE);
	int i;

	for (i = 1; i < argc; i++) {
		const char *what = argv[i];

		if (!strcmp(what, "off"))
			prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		else if (!strcmp(what, "map"))
			say(what, error_of(map(NULL, 16 * MIB, OPEN)));
		else if (!strcmp(what, "small"))
			say(what, error_of(map(NULL, MIB, OPEN)));
		else if (!strcmp(what, "reserve"))
			say(what, mprotect(reserved, 8 * MIB, OPEN) ? errno : 0);
		else if (!strcmp(what, "grow"))
			say(what, grow());
		else if (!strcmp(what, "thread"))
			say(what, thread(8 * MIB));
		else if (!strcmp(what, "tiny"))
			say(what, thread(MIB));
		fflush(stdout);
	}
	return 0;
}
