/* Names that not each C library has are found nevertheless, since ours stand before them:
   what the kernel does itself is done, and of the rest is said that there is none. */
#include "contract.h"
#include <sys/epoll.h>
#include <sys/uio.h>

#define NAMED(type, name, args) type(*of_##name) args = (type(*) args)dlsym(RTLD_DEFAULT, #name)

int main(void)
{
	NAMED(int, epoll_pwait2, (int, struct epoll_event *, int, const struct timespec *, const sigset_t *));
	NAMED(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int));
	NAMED(int, io_getevents, (void *, long, long, void *, void *));
	NAMED(ssize_t, getdirentries, (int, char *, size_t, off_t *));
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = 7}, got;
	struct timespec now = {0, 0};
	char name[] = "/tmp/contract-XXXXXX", bytes[8] = "";
	struct iovec place = {bytes, sizeof bytes};
	int ends[2], poll = epoll_create1(0), file = mkstemp(name);
	off_t at = 0;
	sigset_t all;

	sigfillset(&all);
	CHECK(file >= 0 && !unlink(name) && write(file, "0123456789", 10) == 10);
	CHECK(!pipe(ends) && !epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &event) && write(ends[1], "x", 1) == 1);
	CHECK(!of_epoll_pwait2 || of_epoll_pwait2(poll, &got, 1, &now, &all) == 1);
	CHECK(!of_epoll_pwait2 || (got.events == EPOLLIN && got.data.u32 == 7));
	CHECK(!of_preadv2 || (of_preadv2(file, &place, 1, 4, 0) == 6 && !memcmp(bytes, "456789", 6)));
	CHECK(lseek(file, 2, SEEK_SET) == 2);
	CHECK(!of_preadv2 || (of_preadv2(file, &place, 1, -1, 0) == 8 && !memcmp(bytes, "23456789", 8)));
	/* libaio gives the number of the error:
	   there is no such library here. */
	CHECK(!of_io_getevents || of_io_getevents(NULL, 0, 1, NULL, NULL) == -ENOSYS);
	errno = 0;
	CHECK(!of_getdirentries || (of_getdirentries(-1, bytes, 8, &at) == -1 && (errno == ENOSYS || errno == EBADF)));
	right();
}
