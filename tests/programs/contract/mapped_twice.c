/* Rings in shared memory that are mapped twice, end to end, by remap_file_pages(2): what is
   written in one place is in the other, after a part was protected and in children, too.
   What is watched by userfaultfd(2) as a whole is protected by the page. */
#include "contract.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define PAGE 4096ul

static char *share(size_t size)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static char *segment(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, 0600);
	char *at = shmat(id, NULL, 0);

	CHECK(at != (void *)-1 && !shmctl(id, IPC_RMID, NULL));
	return at;
}

static int remap(char *at, size_t len, size_t page, int by_number)
{
	errno = 0;
	if (by_number)
		return (int)syscall(SYS_remap_file_pages, at, len, 0, page, 0);
	return remap_file_pages(at, len, 0, page, 0);
}

static void ring(char *at, size_t half, int by_number)
{
	int status;
	pid_t child;

	at[half + 9] = 'z';
	CHECK(!remap(at + half, half, 0, by_number) && !errno);
	strcpy(at + 100, "first");
	CHECK(!strcmp(at + half + 100, "first") && !at[half + 9]);
	CHECK(!mprotect(at + 2 * PAGE, PAGE, PROT_READ));
	strcpy(at + half + 100, "second");
	CHECK(!strcmp(at + 100, "second"));
	child = fork();
	if (!child) {
		strcpy(at + half + 200, "third");
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	CHECK(!strcmp(at + 200, "third"));
}

/* Again, of mappings that are one but for what was said about some of them. */
static void again(char *at, size_t half)
{
	CHECK(!remap(at + PAGE, PAGE, 1, 0));
	CHECK(!remap(at, half, 0, 0));
	CHECK(remap(at, half, 0, 0) == 0 && !errno);
	at[5] = 5;
	CHECK(at[5] == 5);
	CHECK(remap_file_pages(at, half, PROT_READ, 0, 0) && errno == EINVAL);
}

static void watch(char *at, size_t size)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {(unsigned long)at, size}, .mode = UFFDIO_REGISTER_MODE_WP};
	struct uffdio_writeprotect closed = {
		.range = {(unsigned long)at + PAGE, PAGE}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
	int watcher = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */);

	if (watcher < 0)
		return;
	memset(at, 3, size);
	CHECK(!ioctl(watcher, UFFDIO_API, &api));
	errno = 0;
	/* Kernels before 5.19 have it for private memory alone. */
	if (ioctl(watcher, UFFDIO_REGISTER, &range)) {
		CHECK(errno == EINVAL);
		close(watcher);
		return;
	}
	CHECK(!ioctl(watcher, UFFDIO_WRITEPROTECT, &closed) && !errno);
	at[0] = at[2 * PAGE] = 4;
	closed.mode = 0;
	CHECK(!ioctl(watcher, UFFDIO_WRITEPROTECT, &closed));
	at[PAGE] = 4;
	CHECK(at[PAGE + 1] == 3);
	close(watcher);
}

int main(void)
{
	int by_number;
	char *at;

	for (by_number = 0; by_number < 2; by_number++) {
		ring(share(8 * MIB), 4 * MIB, by_number);
		ring(share(6 * MIB), 3 * MIB, by_number);
		ring(segment(8 * MIB), 4 * MIB, by_number);
	}
	again(share(4 * MIB), 4 * MIB);
	again(share(1 * MIB), 1 * MIB);
	at = share(8 * MIB);
	at = (char *)(((unsigned long)at + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
	watch(at, 4 * MIB);
	at = get_aligned(2 * MIB, 16 * MIB);
	fill_heap(48);
	watch(at, 4 * MIB);
	check_heap("all");
	right();
}
