/* Calls that put something in the place of shared memory and that a limit refuses, or a hole
   in what is to be moved: what the kernel answers, printed with what is there afterwards, to
   be compared with a plain run. Argument: lock for those that a limit of locked memory
   refuses, beside for another thread. */
#include "contract.h"
#include <sys/resource.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define FIXED (MREMAP_MAYMOVE | MREMAP_FIXED)

static char *target;
static size_t length;
static int pipe_of[2];
static pid_t heir;

static char *memory(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return memset(at, 3, size);
}

static size_t used(int which)
{
	unsigned long value = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file);
	while (fgets(line, sizeof line, file))
		if (sscanf(line, which == RLIMIT_AS ? "VmSize: %lu" : "VmData: %lu", &value) == 1)
			break;
	fclose(file);
	return value * 1024;
}

static void limit(int which, rlim_t bytes)
{
	struct rlimit now;

	CHECK(!getrlimit(which, &now));
	now.rlim_cur = bytes > now.rlim_max ? now.rlim_max : bytes;
	CHECK(!setrlimit(which, &now));
}

static void no_limit(int which)
{
	limit(which, RLIM_INFINITY);
}

/* What a child reads there, or by which signal it dies. */
static int look(const char *at)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit(*(const volatile char *)at);
	CHECK(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void begin(int with_heir)
{
	char byte;

	target = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(target != MAP_FAILED);
	memset(target, 7, length);
	heir = 0;
	if (!with_heir)
		return;
	CHECK(!pipe(pipe_of));
	if (!(heir = fork())) {
		close(pipe_of[1]);
		_exit(read(pipe_of[0], &byte, 1) < 0);
	}
	CHECK(heir > 0);
	close(pipe_of[0]);
}

static void end(const char *what, const void *result, int error)
{
	printf("%-32s %3d, there is %d, %d, %d\n", what, result == MAP_FAILED ? error : 0, look(target),
	       look(target + length / 2), look(target + length - 1));
	munmap(target, length);
	/* What comes there next is not taken for what was. */
	CHECK(mmap(target, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	CHECK(!munmap(target, length));
	if (heir) {
		close(pipe_of[1]);
		wait_for(heir, "the heir");
	}
}

/* With a limit of so much more than there is. */
static void limited(int with_heir, const char *what, int which, size_t more, size_t old, size_t new, int flags)
{
	char *from = memory(old);
	void *now;
	int error;

	begin(with_heir);
	limit(which, used(which) + more);
	errno = 0;
	now = mremap(from, old, new, flags, target);
	error = errno;
	no_limit(which);
	if (now == MAP_FAILED)
		CHECK(from[0] == 3 && from[old - 1] == 3 && !munmap(from, old));
	end(what, now, error);
}

/* With a page that is missing there. */
static void torn(int with_heir, const char *what, size_t hole, size_t old, size_t new)
{
	char *from = memory(old);
	void *now;

	begin(with_heir);
	CHECK(!munmap(from + hole, 4096));
	errno = 0;
	now = mremap(from, old, new, FIXED, target);
	end(what, now, errno);
	if (now == MAP_FAILED)
		CHECK(from[0] == 3 && from[old - 1] == 3 && !munmap(from, old));
	else
		munmap(from, old);
}

static void move(int with_heir)
{
	limited(with_heir, "longer, past a limit of space", RLIMIT_AS, MIB, MIB, length, FIXED);
	limited(with_heir, "longer, within it", RLIMIT_AS, length + MIB, MIB, length, FIXED);
	limited(with_heir, "longer, past a limit of data", RLIMIT_DATA, MIB, MIB, length, FIXED);
	limited(with_heir, "at a limit of space", RLIMIT_AS, 0, length, length, FIXED);
	limited(with_heir, "at a limit of data", RLIMIT_DATA, 0, length, length, FIXED);
	limited(with_heir, "keeping it, past that", RLIMIT_DATA, 0, length, length, FIXED | MREMAP_DONTUNMAP);
	torn(with_heir, "longer, with a hole", MIB, 2 * MIB, length);
	torn(with_heir, "shorter, with a hole", MIB, length + MIB, length);
	torn(with_heir, "shorter, with one behind", length + 8192, length + MIB, length);
}

static void map_locked(int with_heir, const char *what, rlim_t bytes, int flags, int later)
{
	void *now;
	int error;

	begin(with_heir);
	limit(RLIMIT_MEMLOCK, bytes);
	CHECK(!later || !mlockall(later));
	errno = 0;
	now = mmap(target, length, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	error = errno;
	CHECK(!munlockall());
	no_limit(RLIMIT_MEMLOCK);
	end(what, now, error);
}

static void grow_locked(int with_heir)
{
	char *from = memory(65536);
	void *now;
	int error;

	begin(with_heir);
	CHECK(!mlock(from, 65536));
	limit(RLIMIT_MEMLOCK, MIB);
	errno = 0;
	now = mremap(from, 65536, length, FIXED, target);
	error = errno;
	no_limit(RLIMIT_MEMLOCK);
	end("locked, longer, past a limit", now, error);
	CHECK(!munmap(from, 65536));
}

static void lock(int with_heir)
{
	map_locked(with_heir, "locked, past a limit", MIB, MAP_LOCKED, 0);
	map_locked(with_heir, "locked, which is forbidden", 0, MAP_LOCKED, 0);
	map_locked(with_heir, "not locked", 0, 0, 0);
	map_locked(with_heir, "all is locked, past a limit", MIB, 0, MCL_FUTURE);
	grow_locked(with_heir);
}

static void *wait_for_ever(void *nothing)
{
	pause();
	return nothing;
}

int main(int argc, char **argv)
{
	int locks = argc > 1 && !strcmp(argv[1], "lock"), with_heir;
	struct rlimit none = {0, 0};

	setvbuf(stdout, NULL, _IONBF, 0);
	CHECK(!setrlimit(RLIMIT_CORE, &none));
	if (argc > 1 && !strcmp(argv[1], "beside"))
		start(wait_for_ever, NULL);
	for (with_heir = 0; with_heir < 2; with_heir++)
		for (length = 4 * MIB; length <= 5 * MIB; length += MIB) {
			printf("%zu bytes%s\n", length, with_heir ? " that a child has, too" : "");
			(locks ? lock : move)(with_heir);
		}
	return 0;
}
