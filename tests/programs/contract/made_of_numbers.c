/* A library of the program's has functions of libc's names that are made of syscall(2), as
   those for older libcs are. What goes on from ours to theirs, and from there by number to
   ours again, comes to the kernel. */
#ifdef LIBRARY
#define _GNU_SOURCE
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

int madvise(void *addr, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, addr, len, advice);
}

ssize_t process_madvise(int process, const struct iovec *ranges, size_t count, int advice,
			unsigned int flags)
{
	return syscall(SYS_process_madvise, process, ranges, count, advice, flags);
}

int shmget(key_t key, size_t size, int flags)
{
	return (int)syscall(SYS_shmget, key, size, flags);
}

void *shmat(int id, const void *addr, int flags)
{
	return (void *)syscall(SYS_shmat, id, addr, flags);
}

int shmdt(const void *addr)
{
	return (int)syscall(SYS_shmdt, addr);
}

int shmctl(int id, int command, struct shmid_ds *about)
{
	return (int)syscall(SYS_shmctl, id, command, about);
}

int munmap(void *addr, size_t len)
{
	return (int)syscall(SYS_munmap, addr, len);
}

int mprotect(void *addr, size_t len, int prot)
{
	return (int)syscall(SYS_mprotect, addr, len, prot);
}

int mlock(const void *addr, size_t len)
{
	return (int)syscall(SYS_mlock, addr, len);
}

int munlock(const void *addr, size_t len)
{
	return (int)syscall(SYS_munlock, addr, len);
}

int mlockall(int flags)
{
	return (int)syscall(SYS_mlockall, flags);
}

int prctl(int option, ...)
{
	va_list list;
	unsigned long first;

	va_start(list, option);
	first = va_arg(list, unsigned long);
	va_end(list);
	return (int)syscall(SYS_prctl, option, first, 0L, 0L, 0L);
}

ssize_t read(int fd, void *at, size_t len)
{
	return syscall(SYS_read, fd, at, len);
}

int sum(void);

int sum(void)
{
	return 0;
}
#else
#include "contract.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>

int sum(void);
ssize_t process_madvise(int, const struct iovec *, size_t, int, unsigned int);

#define SIZE (8 * MIB)

static char *map(int kind)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 1, SIZE);
	return at;
}

static void advise(char *at)
{
	struct iovec range = {at + 16384, 4096};
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	CHECK(!madvise(at, 4096, MADV_DONTNEED));
	CHECK(!syscall(SYS_madvise, at + 4096, 4096L, (long)MADV_DONTNEED));
	CHECK(!at[0] && !at[4096] && at[8192] == 1);
	/* Kernels before 5.10 have it not. */
	CHECK(process_madvise(self, &range, 1, MADV_COLD, 0) == 4096 || errno == ENOSYS);
	CHECK(syscall(SYS_process_madvise, self, &range, 1L, (long)MADV_COLD, 0L) == 4096 ||
	      errno == ENOSYS);
	close(self);
}

static void change(char *at)
{
	CHECK(!mlock(at, 4096) && !munlock(at, 4096));
	CHECK(!mprotect(at, 4096, PROT_READ));
	CHECK(!syscall(SYS_mprotect, at + 4096, 4096L, (long)PROT_READ));
	at[8192] = 2;
	CHECK(!munmap(at, 4096) && !syscall(SYS_munmap, at + 4096, SIZE - 4096));
}

static void use_segment(int id)
{
	struct shmid_ds about;
	char *at = shmat(id, NULL, 0);

	CHECK(id >= 0 && at != (void *)-1);
	memset(at, 1, SIZE);
	CHECK(!shmctl(id, IPC_STAT, &about) && about.shm_segsz == SIZE);
	CHECK(!shmctl(id, IPC_RMID, NULL) && !shmdt(at));
}

int main(void)
{
	char *block = get(10 * MIB);
	int zeros = open("/dev/zero", O_RDONLY);

	CHECK(!sum());
	memset(block, 1, 10 * MIB);
	advise(map(MAP_PRIVATE));
	advise((char *)(((size_t)block + 4095) & ~(size_t)4095));
	change(map(MAP_PRIVATE));
	change(map(MAP_SHARED));
	use_segment(shmget(IPC_PRIVATE, SIZE, 0600));
	use_segment((int)syscall(SYS_shmget, IPC_PRIVATE, SIZE, 0600L));
	CHECK(!prctl(PR_SET_NAME, "numbers"));
	CHECK(read(zeros, block, MIB) == (ssize_t)MIB && !block[MIB - 1] && block[MIB] == 1);
	free(block);
	right();
}
#endif
