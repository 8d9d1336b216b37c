/* A part of a block that is less than a huge page is sealed, and another one watched by
   userfaultfd(2): each call does what it does for base pages, and the rest of the block
   stays as it was. */
#include "contract.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define MSEAL 462
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define LEN (16 * MIB)

static void seal(char *part)
{
	if (syscall(MSEAL, part, 8192, 0)) {
		CHECK(errno == ENOSYS);
		return;
	}
	CHECK(mprotect(part, 4096, PROT_READ) && errno == EPERM);
	CHECK(!mprotect(part + 8192, 4096, PROT_READ));
	CHECK(!mprotect(part + 8192, 4096, PROT_READ | PROT_WRITE));
	CHECK(syscall(MSEAL, part + 1, 8192, 0) && errno == EINVAL);
}

static void watch(char *part)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {(unsigned long)part, 8192}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	int watcher = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (watcher < 0)
		return;
	CHECK(!ioctl(watcher, UFFDIO_API, &api));
	errno = 0;
	CHECK(!ioctl(watcher, UFFDIO_REGISTER, &range) && !errno);
	CHECK(range.ioctls & 1 << _UFFDIO_COPY);
	CHECK(!ioctl(watcher, UFFDIO_UNREGISTER, &range.range));
	range.range.start++;
	CHECK(ioctl(watcher, UFFDIO_REGISTER, &range) && errno == EINVAL);
	CHECK(ioctl(watcher, UFFDIO_REGISTER, NULL) && errno == EFAULT);
	close(watcher);
}

int main(void)
{
	char *block = get_aligned(4096, LEN);
	size_t i;

	fill_heap(48);
	for (i = 0; i < LEN; i++)
		block[i] = (char)(i / 4096);
	watch(block + 5 * MIB + 4096);
	seal(block + 11 * MIB + 4096);
	for (i = 0; i < LEN; i++)
		CHECK(block[i] == (char)(i / 4096));
	for (i = 0; i < LEN; i += 512)
		block[i] = 1;
	check_heap("all");
	right();
}
