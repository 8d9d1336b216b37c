/* What a call names as a list, a length or a name and nobody can read is the kernel's to
   refuse: `EFAULT`, and no signal. With `filter` the program has a filter of its own, which
   lets all through. */
#include "contract.h"
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define LAST ((void *)-1)
#define REFUSED(call) (errno = 0, CHECK((call) == -1 && errno == EFAULT))

static void filter(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, all};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

int main(int count, char **words)
{
	char *page = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open("/dev/zero", O_RDONLY), sockets[2];
	char *block = get(40 * MIB);
	struct iovec one = {block, 8}, two[] = {one, one};
	void *lists[] = {NULL, LAST, (void *)16, page, page + 4096 - 8};
	size_t at;

	memset(block, 1, 40 * MIB);
	CHECK(page != MAP_FAILED && file >= 0);
	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, sockets));
	CHECK(!mprotect(page, 4096, PROT_READ));
	page += 4096;
	lists[3] = page;
	if (count > 1 && !strcmp(words[1], "filter"))
		filter();
	for (at = 0; at < sizeof lists / sizeof *lists; at++) {
		REFUSED(readv(file, lists[at], 2));
		REFUSED(preadv(file, lists[at], 2, 0));
		REFUSED(process_vm_readv(getpid(), lists[at], 2, lists[at], 2, 0));
#ifdef __GLIBC__
		REFUSED(recvmsg(sockets[0], lists[at], 0));
#endif
	}
	REFUSED(execve(LAST, words, words));
#ifdef __GLIBC__
	REFUSED(sigaltstack(LAST, NULL));
	REFUSED(getsockopt(sockets[0], SOL_SOCKET, SO_ERROR, block, LAST));
#endif
	CHECK(readv(file, two, 2) == 16 && !block[7]);
	right();
}
