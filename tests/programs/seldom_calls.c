/* Replaced calls by names that no header has, or not each C library: looked for at run
   time, and where the C library has none, its plain name takes the place of it, so that
   a run without us says the same. Result, error and contents, no address. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAGE ((size_t)4096)

static void *volatile nowhere = (void *)8;

/* What has one of two names. */
static void *named(const char *name, const char *other)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		found = dlsym(RTLD_DEFAULT, other);
	if (!found)
		exit(3);
	return found;
}

#define CALL(type, name, other, args) ((type (*) args)named(#name, #other))

static void say(const char *what, long result)
{
	printf("%s: %ld %d\n", what, result, result < 0 ? errno : 0);
	fflush(stdout);
	errno = 0;
}

/* Whether a block of that length is one: aligned, writable as far as it goes. */
static int is_good(char *block, size_t len, size_t alignment)
{
	if (!block)
		return -1;
	memset(block, 'g', len);
	return (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= len;
}

static void second_names(void)
{
	static const size_t lens[] = { 0, 1, 24, 1000, 70000, 3 * MIB };
	size_t i, sum;
	char *at;
	void *place;

	for (i = 0; i < sizeof lens / sizeof *lens; i++) {
		size_t len = lens[i], k;

		at = CALL(void *, __libc_malloc, malloc, (size_t))(len);
		say("__libc_malloc", is_good(at, len, 16));
		at = CALL(void *, __libc_realloc, realloc, (void *, size_t))(at, len + 5000);
		for (k = sum = 0; k < len; k++)
			sum += at[k] == 'g';
		say("__libc_realloc", sum == len && is_good(at, len + 5000, 16));
		CALL(void, __libc_free, free, (void *))(at);
		at = CALL(void *, __libc_calloc, calloc, (size_t, size_t))(len, 3);
		for (k = sum = 0; k < len * 3; k++)
			sum += (size_t)at[k];
		say("__libc_calloc", sum == 0 && is_good(at, len * 3, 16));
		CALL(void, __libc_cfree, free, (void *))(at);
		at = CALL(void *, __libc_memalign, memalign, (size_t, size_t))(4096, len);
		say("__libc_memalign", is_good(at, len, 4096));
		CALL(void, cfree, free, (void *))(at);
		at = CALL(void *, __libc_valloc, valloc, (size_t))(len);
		say("__libc_valloc", is_good(at, len, PAGE));
		CALL(void, free_sized, free, (void *, size_t))(at, len);
		at = CALL(void *, __libc_pvalloc, pvalloc, (size_t))(len);
		say("__libc_pvalloc", is_good(at, len, PAGE));
		free(at);
		say("__posix_memalign", CALL(int, __posix_memalign, posix_memalign,
					     (void **, size_t, size_t))(&place, 64, len));
		say("its block", is_good(place, len, 64));
		CALL(void, free_aligned_sized, free, (void *, size_t, size_t))(place, 64, len);
	}
	CALL(void, cfree, free, (void *))(NULL);
	CALL(void, free_sized, free, (void *, size_t))(NULL, 7);
	CALL(void, free_aligned_sized, free, (void *, size_t, size_t))(NULL, 8, 7);
	say("__posix_memalign odd", CALL(int, __posix_memalign, posix_memalign,
					 (void **, size_t, size_t))(&place, 3, 10));
	at = CALL(void *, __libc_malloc, malloc, (size_t))(SIZE_MAX - 5);
	say("too much", at ? 0 : -1);
	at = CALL(void *, __libc_calloc, calloc, (size_t, size_t))(SIZE_MAX / 2, 3);
	say("a product too large", at ? 0 : -1);
}

static void accounts(void)
{
	char *text = NULL, *block = malloc(300000);
	size_t len = 0;
	FILE *file = open_memstream(&text, &len), *terminal = stderr;

	memset(block, 1, 300000);
	say("malloc_info", malloc_info(0, file));
	fclose(file);
	say("its text", strncmp(text, "<malloc", 7) == 0 && strstr(text, "</malloc>") != NULL);
	free(text);
	text = NULL;
	file = open_memstream(&text, &len);
	say("malloc_info wrong", malloc_info(1, file));
	stderr = file;
	malloc_stats();
	stderr = terminal;
	fclose(file);
	free(text);
	say("mallopt", mallopt(M_MMAP_THRESHOLD, 1 << 20));
	say("mallopt unknown", mallopt(12345, 1));
	say("malloc_trim", malloc_trim(0) >= 0);
	free(block);
}

static void into_blocks(void)
{
	char *block = aligned_alloc(PAGE, 4 * MIB);
	struct iovec parts[] = { { block + 5, 1000 }, { block + 2 * MIB - 100, 3000 } };
	struct iovec wrong[] = { { block, 10 }, { nowhere, 10 } };
	char text[3000];
	volatile int few = -1;
	int ends[2];

	memset(block, 'b', 4 * MIB);
	memset(text, 't', sizeof text);
	if (pipe(ends))
		exit(4);
	say("write", write(ends[1], text, sizeof text));
	say("readv", readv(ends[0], parts, 2));
	say("contents", memcmp(block + 5, text, 1000) || memcmp(parts[1].iov_base, text, 2000) ||
				block[4] != 'b' || block[2 * MIB + 1900] != 'b');
	say("write", write(ends[1], text, 20));
	say("readv in part", readv(ends[0], wrong, 2));
	say("readv of too many", readv(ends[0], parts, few));
	say("readv of nothing", readv(-1, parts, 2));
	memset(block, 0, MIB);
	say("getrandom", getrandom(block + 77, 256, 0));
	say("other bytes", block[76] || memcmp(block + 77, block + 77 + 128, 128) == 0);
	say("getrandom wrong", getrandom(block, 1, 999));
	free(block);
}

static int count;

static void prepare(void) { count += 1; }
static void parent(void) { count += 10; }
static void child(void) { count += 100; }

static void forks(void)
{
	char *block = malloc(3 * MIB);
	int status, with_handlers;
	pid_t pid;

	memset(block, 'f', 3 * MIB);
	say("__register_atfork", CALL(int, __register_atfork, __register_atfork,
				      (void (*)(void), void (*)(void), void (*)(void), void *))(
					 prepare, parent, child, NULL));
	for (with_handlers = 0; with_handlers < 2; with_handlers++) {
		pid = with_handlers ? fork() : _Fork();
		if (pid == 0) {
			block[5] = 'c';
			_Exit(count + (block[3 * MIB - 1] == 'f'));
		}
		waitpid(pid, &status, 0);
		say(with_handlers ? "fork" : "_Fork", WEXITSTATUS(status) * 1000 + count);
		say("contents", block[5] == 'f');
	}
	free(block);
}

static int caught;

static void handler(int number) { caught += number; }

static void others(void)
{
	typedef void (*handles)(int);
	handles (*sysv)(int, handles) = named("__sysv_signal", "sysv_signal");
	char *old = sbrk(0), *next, *mapped;

	say("__sysv_signal", sysv(SIGUSR1, handler) == SIG_DFL);
	raise(SIGUSR1);
	say("caught", caught);
	say("only once", sysv(SIGUSR1, SIG_IGN) == SIG_DFL);
	raise(SIGUSR1);
	say("ignored", sysv(SIGUSR1, SIG_DFL) == SIG_IGN);
	say("__sysv_signal of none", sysv(999, handler) == SIG_ERR ? -1 : 0);
	say("__sysv_signal of KILL", sysv(SIGKILL, handler) == SIG_ERR ? -1 : 0);
	next = CALL(void *, __sbrk, sbrk, (intptr_t))(100000);
	say("__sbrk", next == old);
	memset(next, 's', 100000);
	say("__sbrk back", (char *)CALL(void *, __sbrk, sbrk, (intptr_t))(-100000) - old);
	say("__sbrk to here", (char *)sbrk(0) - old);
	mapped = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(mapped, 'p', 4 * MIB);
	say("posix_madvise", posix_madvise(mapped + PAGE, MIB, POSIX_MADV_WILLNEED));
	say("posix_madvise keeps", posix_madvise(mapped, MIB, POSIX_MADV_DONTNEED) + mapped[7]);
	say("posix_madvise odd", posix_madvise(mapped + 1, PAGE, POSIX_MADV_NORMAL));
	say("posix_madvise wrong", posix_madvise(mapped, PAGE, 99));
	munmap(mapped, 4 * MIB);
	say("chroot nowhere", chroot("/nothing/is/here"));
	say("chroot wrong", chroot(nowhere));
	say("chroot", chroot("/"));
}

int main(void)
{
	second_names();
	accounts();
	into_blocks();
	forks();
	others();
	printf("end\n");
	return 0;
}
