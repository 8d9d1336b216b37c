/* Calls that put something in the place of shared memory, and what the kernel answers,
   printed, to be compared with a plain run: where they fail, all that was there is there. */
#include "contract.h"
#include <fcntl.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define SIZE (5 * MIB)
#define FIXED (MREMAP_MAYMOVE | MREMAP_FIXED)

static char *target;
static size_t length;

static char *private_memory(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 3, size);
	return at;
}

/* Where nothing is. */
static char *hole(void)
{
	char *at = private_memory(SIZE);

	CHECK(!munmap(at, SIZE));
	return at;
}

/* All of the target holds what it held, also for a child that has it. */
static void check_target(const char *what)
{
	int status;
	pid_t child;
	size_t i;

	for (i = 0; i < length; i += 512)
		if (target[i] != 7)
			fail("%s: byte %zu is %d", what, i, target[i]);
	if (!(child = fork())) {
		target[5] = 8;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	if (target[5] != 8)
		fail("%s: it is not shared any more", what);
	target[5] = 7;
}

static void intact(const char *what, void *result)
{
	printf("%-40s %s\n", what, result == MAP_FAILED ? strerror(errno) : "done");
	check_target(what);
}

static void *move(char *from, size_t old, size_t new, int flags, char *to)
{
	errno = 0;
	return mremap(from, old, new, flags, to);
}

static void moves(void)
{
	char *other = private_memory(SIZE);

	intact("mremap of nothing", move(hole(), length, length, FIXED, target));
	intact("mremap of itself", move(target, length, length, FIXED, target));
	intact("mremap over a part of itself", move(target, length - MIB, length - MIB, FIXED, target + MIB));
	intact("mremap of a half to the other", move(target, 2 * MIB, 3 * MIB, FIXED, target + MIB));
	intact("mremap that keeps, longer", move(other, MIB, length, FIXED | MREMAP_DONTUNMAP, target));
	intact("mremap that keeps and stays", move(other, MIB, MIB, MREMAP_FIXED | MREMAP_DONTUNMAP, target));
	intact("mremap of private memory again", move(other, 0, length, FIXED, target));
	intact("mremap to no multiple of a page", move(other, MIB, MIB, FIXED, target + 100));
	intact("mremap with a flag of no meaning", move(other, MIB, MIB, FIXED | 64, target));
	intact("mremap to a length of 0", move(other, MIB, 0, FIXED, target));
	CHECK(other[0] == 3 && other[SIZE - 1] == 3);
	CHECK(!munmap(other, SIZE));
}

static void maps(void)
{
	int file = open("/proc/self/exe", O_RDONLY), writes = PROT_READ | PROT_WRITE;
	int fixed = MAP_FIXED | MAP_PRIVATE;

	CHECK(file >= 0);
	intact("mmap of no file", mmap(target, length, writes, fixed, -1, 0));
	intact("mmap of a file to be written", mmap(target, length, writes, MAP_FIXED | MAP_SHARED, file, 0));
	intact("mmap without a kind", mmap(target, length, writes, MAP_FIXED | MAP_ANONYMOUS, -1, 0));
#if defined SYS_mmap && !defined __s390x__
	intact("mmap of no file by number", (void *)syscall(SYS_mmap, target, length, writes, fixed, -1, 0L));
	intact("mmap of a file by number",
	       (void *)syscall(SYS_mmap, target, length, writes, MAP_FIXED | MAP_SHARED, file, 0L));
#endif
	close(file);
}

static void attach(int segment, const char *name)
{
	char what[80];
	struct shmid_ds about;

	snprintf(what, sizeof what, "shmat of %s at an odd place", name);
	intact(what, shmat(segment, target + 100, SHM_REMAP));
	CHECK(!shmctl(segment, IPC_STAT, &about));
	/* For root nothing is closed. */
	if (geteuid()) {
		about.shm_perm.mode = 0;
		CHECK(!shmctl(segment, IPC_SET, &about));
		CHECK(shmat(segment, target, SHM_REMAP) == (void *)-1 && errno == EACCES);
		check_target(name);
	}
}

static void segments(void)
{
	int small = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
	int large = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);

	CHECK(small >= 0 && large >= 0);
	attach(small, "a small segment");
	attach(large, "a large segment");
	intact("shmat of no segment", shmat(-1, target, SHM_REMAP));
	CHECK(!shmctl(small, IPC_RMID, NULL) && !shmctl(large, IPC_RMID, NULL));
	intact("shmat of one that is gone", shmat(large, target, SHM_REMAP));
}

/* And one that is done, wherever in a page it begins. */
static void replace(size_t from)
{
	int segment = shmget(IPC_PRIVATE, MIB, IPC_CREAT | 0600);
	char *other = private_memory(MIB), *at = target + from, *now;

	CHECK(segment >= 0);
	errno = 0;
	now = mremap(other, MIB, MIB, FIXED, at);
	printf("mremap there: %s\n", now == at ? "done" : strerror(errno));
	CHECK(now != at || (at[0] == 3 && at[MIB - 1] == 3));
	errno = 0;
	now = shmat(segment, at + 10, SHM_REMAP | SHM_RND);
	printf("shmat there: %s\n", now == at ? "done" : strerror(errno));
	if (now == at) {
		CHECK(at[0] == 0 && at[MIB - 1] == 0);
		memset(at, 4, MIB);
		CHECK(!mprotect(at + 4096, 4096, PROT_READ));
		CHECK(!shmdt(at));
		CHECK((at = shmat(segment, NULL, 0)) != (void *)-1 && at[4096] == 4 && at[MIB - 1] == 4);
		CHECK(!shmdt(at));
	}
	CHECK(!shmctl(segment, IPC_RMID, NULL));
	CHECK(target[from ? 0 : 2 * MIB] == 7);
}

static char *share(void)
{
	char *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return memset(at, 7, length);
}

static void all(int with_heir)
{
	int pipe_of[2];
	pid_t heir = -1;
	char byte;

	CHECK(!pipe(pipe_of));
	target = share();
	if (with_heir && !(heir = fork())) {
		close(pipe_of[1]);
		_exit(read(pipe_of[0], &byte, 1) < 0);
	}
	close(pipe_of[0]);
	printf("%zu bytes%s\n", length, with_heir ? " that a child has, too" : "");
	moves();
	maps();
	segments();
	close(pipe_of[1]);
	if (with_heir)
		wait_for(heir, "the heir");
	else {
		replace(0);
		CHECK(!munmap(target, length));
		target = share();
		replace(MIB);
	}
	CHECK(!munmap(target, length));
}

int main(void)
{
	int with_heir;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (with_heir = 0; with_heir < 2; with_heir++)
		for (length = 4 * MIB; length <= SIZE; length += MIB)
			all(with_heir);
	return 0;
}
