/* Calls that are replaced and that no other program here makes, each with memory of each
   kind, with what is right and what is wrong: result, error and contents, no address. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define SIZE (8 * MIB)
#define PAGE ((size_t)4096)
#define RW (PROT_READ | PROT_WRITE)

static const char *kind;
static void *volatile nowhere = (void *)8;

/* What glibc's headers make of reads into room whose size they know. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
static char *memory; /* whole pages of SIZE bytes */

static void say(const char *what, long result)
{
	int error = errno;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < SIZE; i += 64)
		sum = sum * 31 + (unsigned char)memory[i];
	printf("%s %s: %ld %d %llx\n", kind, what, result, result < 0 ? error : 0,
	       (unsigned long long)sum);
	fflush(stdout);
	errno = 0;
}

static void fill(void)
{
	size_t i;

	for (i = 0; i < SIZE; i++)
		memory[i] = (char)(i / 61);
}

static void locks(void)
{
	say("mlock2", mlock2(memory + PAGE, 3 * MIB, 0));
	say("mlock2 later", mlock2(memory + 4 * MIB, PAGE, MLOCK_ONFAULT));
	say("mlock2 wrong", mlock2(memory, PAGE, 99));
	say("munlock", munlock(memory, SIZE));
	say("mlockall wrong", mlockall(99));
	say("mlockall", mlockall(MCL_CURRENT));
	say("munlockall", munlockall());
}

static void keys(void)
{
	say("pkey_mprotect", pkey_mprotect(memory + PAGE, 2 * PAGE, PROT_READ, -1));
	say("pkey_mprotect back", pkey_mprotect(memory + PAGE, 2 * PAGE, RW, -1));
	say("pkey_mprotect odd", pkey_mprotect(memory + 7, PAGE, RW, -1));
	say("pkey_mprotect no key", pkey_mprotect(memory, PAGE, RW, 77));
}

static void advice_of_processes(void)
{
	struct iovec parts[] = { { memory + PAGE, PAGE }, { memory + 3 * MIB, MIB } };
	struct iovec odd = { memory + 7, PAGE };
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	say("process_madvise cold", process_madvise(self, parts, 2, MADV_COLD, 0));
	say("process_madvise willneed", process_madvise(self, parts, 2, MADV_WILLNEED, 0));
	say("process_madvise odd", process_madvise(self, &odd, 1, MADV_COLD, 0));
	say("process_madvise flags", process_madvise(self, parts, 2, MADV_COLD, 1));
	say("process_madvise nobody", process_madvise(-1, parts, 2, MADV_COLD, 0));
	close(self);
}

static void reads(size_t len)
{
	char name[] = "/tmp/other_calls.XXXXXX";
	int file = mkstemp(name), pair[2], poll = epoll_create1(0);
	struct iovec parts[] = { { memory + 5, 1000 }, { memory + 2 * MIB + 9, len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 7 };
	char text[3000];

	unlink(name);
	memset(text, 'r', sizeof text);
	say("write", write(file, text, sizeof text));
	say("pread64", pread64(file, memory + MIB + 3, len, 100));
	say("preadv64", preadv64(file, parts, 2, 50));
	say("pread64 at its end", pread64(file, memory, len, 5000));
	say("pread64 nowhere", pread64(file, nowhere, len, 0));
	say("pread64 of nothing", pread64(-1, memory, len, 0));
	say("__pread_chk", __pread_chk(file, memory + 5 * MIB + 1, len, 7, MIB));
	say("__pread64_chk", __pread64_chk(file, memory + 6 * MIB - 9, len, 9, MIB));
	lseek(file, 11, SEEK_SET);
	say("__read_chk", __read_chk(file, memory + 7 * MIB - 3, len, MIB));
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		exit(3);
	send(pair[1], text, 2000, 0);
	say("recvfrom", recvfrom(pair[0], memory + 3 * MIB + 1, len, 0, NULL, NULL));
	send(pair[1], text, 2000, 0);
	say("recvmsg", recvmsg(pair[0], &message, 0));
	send(pair[1], text, 2000, 0);
	say("recv", recv(pair[0], memory + 4 * MIB - 100, len, MSG_PEEK));
	say("__recv_chk", __recv_chk(pair[0], memory + 33, len, MIB, MSG_PEEK));
	say("__recvfrom_chk", __recvfrom_chk(pair[0], memory + 2 * MIB - 7, len, MIB, 0, NULL,
					     NULL));
	say("recvfrom nowhere", recvfrom(pair[0], nowhere, len, MSG_DONTWAIT, NULL, NULL));
	say("recvfrom nothing", recvfrom(pair[0], memory, len, MSG_DONTWAIT, NULL, NULL));
	epoll_ctl(poll, EPOLL_CTL_ADD, pair[0], &event);
	say("epoll_wait nothing", epoll_wait(poll, (void *)(memory + 4096), 4, 0));
	send(pair[1], text, 1, 0);
	say("epoll_wait", epoll_wait(poll, (void *)(memory + 4096), 4, 1000));
	say("epoll_wait none", epoll_wait(poll, (void *)(memory + 4096), 0, 0));
	close(pair[0]);
	close(pair[1]);
	close(poll);
	close(file);
}

/* A result, and the kind and number of the file that it is about; what else is there,
   times and places, is another each time. */
static long kind_of(long result, struct stat *about)
{
	long kind = result ? 0 : (long)(about->st_mode & S_IFMT) << 16 | (long)about->st_rdev;

	memset(about, 0, sizeof *about);
	return result ? result : kind;
}

/* What the kernel knows of files and descriptors, written there. */
static void answers(void)
{
	struct stat *about = (void *)(memory + MIB - 40);
	struct statx *more = (void *)(memory + 2 * MIB - 128);
	struct pollfd *all = (void *)(memory + 4096);
	struct timespec none = { 0, 0 };
	int pair[2], file = open("/dev/zero", O_RDONLY);
	volatile nfds_t most = (nfds_t)-1;
	long got;

	say("stat", kind_of(stat("/", about), about));
	say("stat64", kind_of(stat64("/dev/null", (void *)about), about));
	say("lstat", kind_of(lstat("/proc/self/exe", about), about));
	say("lstat64", kind_of(lstat64("/proc/self", (void *)about), about));
	say("stat of nothing", stat("/nothing/here", about));
	say("stat nowhere", stat("/", nowhere));
	say("fstat", kind_of(fstat(file, about), about));
	say("fstat64", kind_of(fstat64(file, (void *)about), about));
	say("fstat of nothing", fstat(-1, about));
	say("fstat nowhere", fstat(file, nowhere));
	say("fstatat", kind_of(fstatat(AT_FDCWD, "/dev/full", about, 0), about));
	say("fstatat64", kind_of(fstatat64(AT_FDCWD, "/dev", (void *)about, AT_SYMLINK_NOFOLLOW), about));
	say("fstatat flags", fstatat(AT_FDCWD, "/", about, -1));
	got = statx(AT_FDCWD, "/dev/null", 0, STATX_TYPE, more);
	got = got << 8 | more->stx_rdev_minor;
	memset(more, 0, sizeof *more);
	say("statx", got);
	say("statx nowhere", statx(AT_FDCWD, "/", 0, STATX_TYPE, nowhere));
	say("readlink", readlink("/proc/self/fd/nothing", memory, 100));
	say("readlink", readlink("/dev/stdin", memory, 100));
	say("readlinkat", readlinkat(AT_FDCWD, "/dev/stdin", memory + MIB, 5));
	say("readlinkat nothing", readlinkat(AT_FDCWD, "/", memory, 5));
	say("getcwd", getcwd(memory + 3, 4096) == memory + 3);
	say("getcwd small", getcwd(memory, 1) == NULL);
	say("getcwd made", getcwd(NULL, 0) != NULL);
	if (pipe(pair))
		exit(3);
	all[0] = (struct pollfd){ .fd = pair[0], .events = POLLIN };
	all[1] = (struct pollfd){ .fd = pair[1], .events = POLLOUT };
	say("poll", poll(all, 2, 0));
	say("ready", all[0].revents << 8 | all[1].revents);
	say("poll none", poll(all, 1, 0));
	say("ppoll", ppoll(all, 2, &none, NULL));
	say("poll nowhere", poll(nowhere, 1, 0));
	say("poll too many", poll(all, most, 0));
	close(pair[0]);
	close(pair[1]);
	close(file);
}

static void streams(void)
{
	FILE *file = fopen("/dev/zero", "r");
	size_t got;

	say("fread nowhere", (long)fread(nowhere, 1, MIB, file));
	say("error", !!ferror(file));
	say("fread", (long)fread(memory + 5, 3, 100, file));
	say("fread much", (long)fread(memory + 7, 1000, 3000, file));
	say("fread nothing", (long)fread(memory, 0, 9, file));
	say("fread of sizes that wrap", (long)fread(memory, (size_t)1 << 63, 2, file));
	say("fread later", (long)fread(memory + MIB, 1, 70000, file));
	say("error", !!ferror(file));
	clearerr(file);
	say("fread_unlocked", (long)fread_unlocked(memory + 3 * MIB, 7, 9999, file));
	say("__fread_chk", (long)__fread_chk(memory + 4 * MIB, MIB, 1, 5000, file));
	say("__fread_unlocked_chk", (long)__fread_unlocked_chk(memory + 5 * MIB, MIB, 2, 500, file));
	fclose(file);
	file = fopen("/proc/self/cmdline", "r");
	got = fread(memory + MIB, 1, MIB, file);
	say("fread to the end", got > 0 && feof(file) && !ferror(file));
	memset(memory + MIB, 1, MIB);
	fclose(file);
}

/* The end of a child that ends with 3. */
static pid_t child_of_three(void)
{
	pid_t child = vfork();

	if (!child)
		_exit(3);
	return child;
}

static void ends(void)
{
	int *status = (void *)(memory + 2 * MIB - 4);
	struct rusage *usage = (void *)(memory + 3 * MIB - 32);
	siginfo_t *about = (void *)(memory + 4 * MIB - 16);
	long got;

	child_of_three();
	say("wait", wait(status) > 0);
	child_of_three();
	say("waitpid", waitpid(-1, status, 0) > 0);
	say("waitpid none", waitpid(-1, status, WNOHANG));
	child_of_three();
	say("waitpid unasked", waitpid(-1, NULL, 0) > 0);
	child_of_three();
	say("wait3", wait3(status, 0, NULL) > 0);
	child_of_three();
	got = wait4(-1, status, 0, usage) > 0 && usage->ru_maxrss > 0;
	memset(usage, 0, sizeof *usage);
	say("wait4", got);
	say("wait4 wrong", wait4(-1, status, -1, usage));
	child_of_three();
	got = waitid(P_ALL, 0, about, WEXITED) || about->si_pid <= 0;
	got = got << 16 | about->si_status << 8 | about->si_code;
	memset(about, 0, sizeof *about);
	say("waitid", got);
	say("waitid none", waitid(P_ALL, 0, about, WEXITED));
	child_of_three();
	say("waitpid nowhere", waitpid(-1, nowhere, 0));
	say("wait none", wait(status));
}

static void connections(void)
{
	struct sockaddr_un at = { AF_UNIX, "" }, *who = (void *)(memory + MIB - 3);
	socklen_t *len = (void *)(memory + 4 * MIB - 4), own = sizeof at;
	fd_set *set = (void *)(memory + 5 * MIB - 8);
	struct timespec none = { 0, 0 };
	struct timeval at_once = { 0, 0 };
	int here = socket(AF_UNIX, SOCK_STREAM, 0), there[3], got[3], i;

	if (bind(here, (void *)&at, sizeof(sa_family_t)) || listen(here, 9) || getsockname(here, (void *)&at, &own))
		exit(3);
	FD_ZERO(set);
	FD_SET(here, set);
	say("select none", select(here + 1, set, NULL, NULL, &at_once));
	for (i = 0; i < 3; i++)
		if (connect(there[i] = socket(AF_UNIX, SOCK_STREAM, 0), (void *)&at, own))
			exit(3);
	FD_SET(here, set);
	FD_SET(0, set + 1);
	say("select", select(here + 1, set, NULL, NULL, &at_once));
	say("selected", FD_ISSET(here, set) && FD_ISSET(0, set + 1));
	say("pselect", pselect(here + 1, set, NULL, set + 2, &none, NULL));
	say("select wrong", select(-1, set, NULL, NULL, &at_once));
	say("select nowhere", select(here + 1, nowhere, NULL, NULL, &at_once));
	*len = sizeof *who;
	say("accept", (got[0] = accept(here, (void *)who, len)) >= 0);
	say("length", *len);
	*len = 1;
	say("accept4", (got[1] = accept4(here, (void *)who, len, SOCK_CLOEXEC)) >= 0);
	say("length", *len);
	say("accept unasked", (got[2] = accept(here, NULL, NULL)) >= 0);
	say("accept4 wrong", accept4(here, (void *)who, len, -1));
	say("accept of none", accept(-1, (void *)who, len));
	for (i = 0; i < 3; i++) {
		close(there[i]);
		close(got[i]);
	}
	close(here);
}

static void with(const char *name, char *at)
{
	kind = name;
	memory = at;
	fill();
	errno = 0;
	locks();
	keys();
	advice_of_processes();
	reads(1500);
	answers();
	streams();
	ends();
	connections();
}

static void aligned(void)
{
	size_t lens[] = { 0, 1, 5000, 3 * MIB }, i;
	char *at;

	for (i = 0; i < 4; i++) {
		at = valloc(lens[i]);
		printf("valloc %zu: %d %d\n", lens[i], at != NULL, (uintptr_t)at % PAGE == 0);
		free(at);
		at = pvalloc(lens[i]);
		printf("pvalloc %zu: %d %d %d\n", lens[i], at != NULL, (uintptr_t)at % PAGE == 0,
		       malloc_usable_size(at) >= (lens[i] + PAGE - 1) / PAGE * PAGE);
		free(at);
	}
	errno = 0;
	at = pvalloc(SIZE_MAX - 5);
	printf("pvalloc too much: %d %d\n", at == NULL, errno == ENOMEM);
}

static void becomes(int by_number)
{
	char *words[] = { "echo", by_number ? "by execveat" : "by fexecve", NULL };
	char *none[] = { "A=b", NULL };
	int file = open("/bin/echo", O_RDONLY | O_CLOEXEC), status = -1;

	fflush(stdout);
	if (fork() == 0) {
		if (by_number)
			execveat(file, "", words, none, AT_EMPTY_PATH);
		else
			fexecve(file, words, none);
		_Exit(9);
	}
	wait(&status);
	printf("%d\n", status);
	errno = 0;
	printf("%d %d\n", execveat(-1, "nothing", words, none, 0), errno);
	errno = 0;
	printf("%d %d\n", fexecve(-1, words, none), errno);
	close(file);
}

int main(void)
{
	int any = MAP_ANONYMOUS;

	with("block", aligned_alloc(PAGE, SIZE));
	with("shared", mmap64(NULL, SIZE, RW, MAP_SHARED | any, -1, 0));
	with("private", mmap64(NULL, SIZE, RW, MAP_PRIVATE | any, -1, 0));
	memory = mmap64(NULL, 0, RW, MAP_PRIVATE | any, -1, 0);
	printf("mmap64 nothing: %d %d\n", memory == MAP_FAILED, errno);
	memory = mmap64(NULL, PAGE, RW, MAP_SHARED | any, -1, 1);
	printf("mmap64 odd: %d %d\n", memory == MAP_FAILED, errno);
	aligned();
	becomes(0);
	becomes(1);
	_Exit(5);
}
