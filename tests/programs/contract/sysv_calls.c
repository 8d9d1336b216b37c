/* What the kernel answers to calls on System V segments, printed, to be compared
   with a plain run; after each, what must be in the memory is there. */
#include "contract.h"
#include <sys/shm.h>

#define SIZE (40 * MIB)

static void say(const char *what, long result)
{
	printf("%-34s %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
	errno = 0;
}

static void *attach(int id, void *at, int flags, const char *what)
{
	char *where = shmat(id, at, flags);

	say(what, where == (void *)-1 ? -1 : 0);
	return where;
}

/* An address that is free, aligned to 4 KiB and no more. */
static char *odd_place(void)
{
	char *at = mmap(NULL, SIZE + 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	munmap(at, SIZE + 8 * MIB);
	return (char *)(((size_t)at + 4 * MIB) & ~(2 * MIB - 1)) + 4096;
}

/* Whether a write succeeds, tried by a child. */
static void try_write(const char *what, volatile char *at)
{
	int status;
	pid_t child = fork();

	if (!child) {
		*at = *at;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	printf("%-34s %s\n", what, status ? "dies" : "writes");
}

static void one_segment(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	struct shmid_ds about;
	char *at, *other, *odd;

	printf("a segment of %zu bytes\n", size);
	CHECK(id >= 0);
	CHECK(!shmctl(id, IPC_STAT, &about));
	printf("its size is %zu\n", (size_t)about.shm_segsz);
	odd = attach(id, odd_place(), 0, "shmat at a 4 KiB-aligned address");
	if (odd != (void *)-1)
		say("shmdt", shmdt(odd));
	at = attach(id, NULL, 0, "shmat");
	CHECK(at != (void *)-1);
	memset(at, 7, size);
	say("mprotect of 4 KiB, to be read", mprotect(at + 4096, 4096, PROT_READ));
	try_write("a write there", at + 4096);
	try_write("a write beside it", at + 8192);
	say("mprotect of it back", mprotect(at + 4096, 4096, PROT_READ | PROT_WRITE));
	try_write("a write there", at + 4096);
	say("madvise(DONTNEED) of 4 KiB", madvise(at + 8192, 4096, MADV_DONTNEED));
	CHECK(at[8192] == 7 && at[4096] == 7);
	say("madvise(RANDOM) of 4 KiB", madvise(at + 8192, 4096, MADV_RANDOM));
	say("madvise(REMOVE) of 4 KiB", madvise(at + 12288, 4096, MADV_REMOVE));
	printf("there is now a %d, before it a %d\n", at[12288], at[12287]);
	say("mlock of 5000 bytes", mlock(at + 100, 5000));
	say("munlock of 5000 bytes", munlock(at + 100, 5000));
	other = attach(id, NULL, SHM_RDONLY, "shmat a second time, to read");
	if (other != (void *)-1) {
		at[5] = 9;
		CHECK(other[5] == 9);
		say("shmdt of it", shmdt(other));
	}
	say("munmap of the last 4 KiB", munmap(at + size - 4096, 4096));
	try_write("a write there", at + size - 4096);
	try_write("a write before it", at + size - 8192);
	say("shmdt", shmdt(at));
	say("shmdt again", shmdt(at));
	other = attach(id, NULL, 0, "shmat afterwards");
	if (other != (void *)-1) {
		CHECK(other[5] == 9 && other[20000] == 7 && other[size - 4096] == 7);
		say("shmdt", shmdt(other));
	}
	say("shmctl(RMID)", shmctl(id, IPC_RMID, NULL));
	say("shmat of what is gone", shmat(id, NULL, 0) == (void *)-1 ? -1 : 0);
}

int main(void)
{
	key_t key = (key_t)(0x48000000 + getpid());
	int small = shmget(key, 8 * MIB, IPC_CREAT | IPC_EXCL | 0600), id;

	setvbuf(stdout, NULL, _IONBF, 0);
	CHECK(small >= 0);
	id = shmget(key, SIZE, IPC_CREAT | 0600);
	say("shmget of more than there is", id < 0 ? -1 : 0);
	id = shmget(key, 8 * MIB, IPC_CREAT | IPC_EXCL | 0600);
	say("shmget of one that exists", id < 0 ? -1 : 0);
	id = shmget(key, 0, 0);
	say("shmget of it with no size", id < 0 ? -1 : 0);
	CHECK(id == small);
	id = shmget(key, 4 * MIB, IPC_CREAT | 0600);
	say("shmget of less than there is", id < 0 ? -1 : 0);
	CHECK(id == small && !shmctl(small, IPC_RMID, NULL));
	one_segment(SIZE);
	one_segment(SIZE + 4096);
	return 0;
}
