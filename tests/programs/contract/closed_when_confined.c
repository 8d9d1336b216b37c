/* A page of shared memory is closed after the program has denied itself what tells of its
   memory: 0 for a folder without /proc as its root, 1 for descriptors, 2 for system calls,
   which concerns memory that it maps from then on. */
#include "contract.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { SIZE = 8 << 20, PAGE = 4096 };

static char *map(void)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	memset(at, 7, SIZE);
	return at;
}

static void close_page(char *at)
{
	CHECK(!mprotect(at + PAGE, PAGE, PROT_READ) && at[PAGE] == 7 && at[SIZE - 1] == 7);
	at[2 * PAGE] = 8;
	CHECK(!mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE));
	at[PAGE] = 9;
	CHECK(at[PAGE] == 9 && at[2 * PAGE] == 8 && !munmap(at + PAGE, PAGE));
}

static void confine(int how)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {1, all};
	struct rlimit none = {0, 0};
	char empty[] = "/tmp/confinedXXXXXX";

	if (how == 0)
		CHECK(mkdtemp(empty) && !chdir(empty) && !rmdir(empty) && !chroot("."));
	else if (how == 1)
		CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	else
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		      !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

int main(int argc, char **argv)
{
	int how = number(argc, argv, 1, 0);
	char *before = map();

	confine(how);
	close_page(map());
	if (how != 2)
		close_page(before);
	right();
}
