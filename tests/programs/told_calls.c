/* Calls to which the kernel writes what it knows, each with a place on a huge page's
   border, with an address that is none, and with none: result, error and contents. Names
   that not each C library has are looked for at run time; what differs from one moment to
   the next is only said to be there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define SIZE (8 * MIB)

static char *memory, *place; /* its border is in the middle of what is there */
static const char *kind;
static void *volatile nowhere = (void *)8;
static volatile int less_than_none = -1;
static void *volatile at;

static void fill(void) { memset(place - 100, 0x5a, 1200); }

/* What is there now: all of it, or whether anything is. */
static unsigned long long contents(int is_steady)
{
	unsigned long long sum = 0;
	int i;

	for (i = -100; i < 1100; i++)
		sum = sum * 31 + (unsigned char)place[i];
	if (is_steady)
		return sum;
	for (i = -100; i < 1100; i++)
		if (place[i] != 0x5a)
			return 1;
	return 0;
}

static void say(const char *what, int where, long result, int is_steady)
{
	int error = errno;

	printf("%s %.30s %d: %ld %d %llx\n", kind, what, where, result, result < 0 ? error : 0, contents(is_steady));
	fflush(stdout);
}

static void *many(int where)
{
	fill();
	errno = 0;
	return at = where == 0 ? place : where == 1 ? nowhere : NULL;
}

/* A call with `at` in each of the first so many of three places. */
#define TRY(is_steady, places, call) \
	do { \
		int where; \
		for (where = 0; where < (places); where++) { \
			many(where); \
			say(#call, where, (long)(call), is_steady); \
		} \
	} while (0)

/* The same of one that is not there in each C library. */
#define NAMED(is_steady, places, result, name, types, args) \
	do { \
		result(*name##_) types = (result(*) types)dlsym(RTLD_DEFAULT, #name); \
		if (name##_) \
			TRY(is_steady, places, name##_ args); \
	} while (0)

static int sign(long result) { return result < 0 ? -1 : result > 0; }

static long get_attributes(int process, void *about, unsigned len, unsigned flags)
{
	int (*call)(int, void *, unsigned, unsigned) =
		(int (*)(int, void *, unsigned, unsigned))dlsym(RTLD_DEFAULT, "sched_getattr");

	return call ? call(process, about, len, flags) : syscall(SYS_sched_getattr, process, about, len, flags);
}

/* musl's getdents has no 64 in its name, and gives an int. */
static int get_entries(int dir, void *buffer, size_t len)
{
	int (*call)(int, void *, size_t) = (int (*)(int, void *, size_t))dlsym(RTLD_DEFAULT, "getdents");

	return call ? call(dir, buffer, len) : (int)syscall(SYS_getdents64, dir, buffer, len);
}

static void process(void)
{
	struct rlimit limit;
	uint32_t header[2] = { 0x20080522, 0 };
	char bytes[300];
	struct iovec own = { bytes, 300 }, to = { place, 300 };

	getrlimit(RLIMIT_NOFILE, &limit);
	TRY(0, 3, getrusage(RUSAGE_SELF, at));
	TRY(0, 1, getrusage(77, at));
	TRY(1, 3, getrlimit(RLIMIT_STACK, at));
	TRY(1, 3, getrlimit64(RLIMIT_STACK, at));
	TRY(1, 3, prlimit(0, RLIMIT_NOFILE, &limit, at));
	TRY(1, 3, prlimit64(0, RLIMIT_CORE, NULL, at));
	TRY(1, 1, prlimit(-5, RLIMIT_CORE, NULL, at));
	TRY(1, 3, getgroups(200, at));
	TRY(1, 1, getgroups(less_than_none, at));
	NAMED(1, 2, int, __getgroups_chk, (int, void *, size_t), (200, at, 800));
	TRY(1, 3, getresuid(at, (uid_t *)at + 1, (uid_t *)at + 2));
	TRY(1, 3, getresgid(at, (gid_t *)at + 1, (gid_t *)at + 2));
	TRY(1, 3, uname(at));
	TRY(0, 3, sysinfo(at));
	TRY(1, 3, sched_getaffinity(0, 128, at));
	TRY(1, 1, sched_getaffinity(0, 1, at));
	TRY(1, 3, sched_getparam(0, at));
	TRY(0, 3, get_attributes(0, at, 48, 0));
	TRY(0, 3, sched_rr_get_interval(0, at));
	TRY(0, 1, getcpu(at, (unsigned *)at + 1));
	NAMED(1, 3, int, capget, (void *, void *), (header, at));
	NAMED(1, 3, int, capset, (void *, void *), (at, bytes));
	TRY(0, 3, mincore((void *)((uintptr_t)say & -4096ul), 1, at));
#ifdef __x86_64__
	NAMED(0, 2, int, modify_ldt, (int, void *, unsigned long), (0, at, 16));
#endif
	TRY(1, 2, pthread_getaffinity_np(pthread_self(), 128, at));
	TRY(1, 1, pthread_getschedparam(pthread_self(), at, (void *)(place + 8)));
	TRY(1, 2, pthread_getname_np(pthread_self(), at, 40));
	TRY(1, 1, pthread_getname_np(pthread_self(), at, 4));
	memset(bytes, 'b', 300);
	TRY(1, 1, process_vm_readv(getpid(), &to, 1, &own, 1, 0));
	TRY(1, 1, process_vm_writev(getpid(), &own, 1, &to, 1, 0));
	TRY(1, 1, process_vm_readv(getpid(), &to, 1, &own, 1, 9));
	own.iov_base = nowhere;
	TRY(1, 1, process_vm_readv(getpid(), &to, 1, &own, 1, 0));
	TRY(1, 3, ptrace(PTRACE_GETEVENTMSG, getppid(), NULL, at));
}

static void handler(int number) { (void)number; }

static void clocks(void)
{
	struct itimerspec later = { { 0, 0 }, { 5, 0 } }, never = { { 0, 0 }, { 0, 0 } };
	struct itimerval soon = { { 0, 20000 }, { 0, 20000 } }, none = { { 0, 0 }, { 0, 0 } };
	struct timespec pause = { 1000, 0 };
	struct sigaction action = { .sa_handler = handler };
	struct sigevent silent = { .sigev_notify = SIGEV_NONE };
	struct sched_param first = { 0 };
	int file = timerfd_create(CLOCK_MONOTONIC, 0);
	timer_t timer;

	(void)first;
	if (timer_create(CLOCK_MONOTONIC, &silent, &timer))
		exit(3);
	sigaction(SIGALRM, &action, NULL);
	TRY(1, 3, getitimer(ITIMER_VIRTUAL, at));
	TRY(1, 1, getitimer(99, at));
	TRY(1, 3, setitimer(ITIMER_VIRTUAL, &none, at));
	TRY(1, 3, timer_gettime(timer, at));
	TRY(1, 3, timer_settime(timer, 0, &never, at));
	TRY(1, 3, timerfd_gettime(file, at));
	TRY(1, 3, timerfd_settime(file, 0, &never, at));
	TRY(0, 1, timerfd_settime(file, 0, &later, at));
	TRY(0, 1, timerfd_settime(file, 0, &never, at));
	TRY(1, 1, timerfd_settime(-1, 0, &never, at));
	TRY(1, 3, clock_getres(CLOCK_THREAD_CPUTIME_ID, at));
	TRY(1, 1, clock_getres(12345, at));
	TRY(1, 3, sigpending(at));
	setitimer(ITIMER_REAL, &soon, NULL);
	TRY(0, 3, nanosleep(&pause, at));
	TRY(0, 3, clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, at));
	TRY(0, 1, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &pause, at) >= 0);
	NAMED(0, 3, int, thrd_sleep, (void *, void *), (&pause, at));
	setitimer(ITIMER_REAL, &none, NULL);
	pause.tv_nsec = -1;
	TRY(1, 3, nanosleep(&pause, at));
	TRY(0, 1, sign(times(at)));
	TRY(0, 1, sign(times(NULL)));
	memset(place, 0, 208);
	printf("%d %d\n", sign(adjtimex((void *)place)), sign(ntp_adjtime((void *)place)));
	TRY(1, 2, clock_adjtime(99, at));
	many(0);
	memset(place, 0, 208);
	say("clock_adjtime", 0, sign(clock_adjtime(CLOCK_REALTIME, (void *)place)), 0);
	errno = 0;
	printf("%d %d\n", sign(adjtimex(nowhere)), errno);
	close(file);
}

static void files(void)
{
	char name[] = "/tmp/told_calls.XXXXXX";
	int file = mkstemp(name), root = open("/proc/self/ns", O_RDONLY | O_DIRECTORY), other = 0;

	setxattr(name, "user.told", "value", 5, 0);
	TRY(0, 3, statfs("/proc", at));
	TRY(0, 3, statfs64("/proc", at));
	TRY(1, 1, statfs("/nothing/here", at));
	TRY(0, 3, fstatfs(root, at));
	TRY(0, 3, fstatfs64(root, at));
	TRY(1, 3, getxattr(name, "user.told", at, 50));
	TRY(1, 3, lgetxattr(name, "user.told", at, 3));
	TRY(1, 3, fgetxattr(file, "user.none", at, 50));
	TRY(1, 3, listxattr(name, at, 50));
	TRY(1, 3, llistxattr(name, at, 50));
	TRY(1, 3, flistxattr(file, at, 1));
	((struct file_handle *)many(0))->handle_bytes = 100;
	say("name_to_handle_at", 0, name_to_handle_at(AT_FDCWD, "/tmp", at, &other, 0), 0);
	TRY(1, 3, name_to_handle_at(AT_FDCWD, "/nothing", at, &other, 0));
	TRY(1, 3, quotactl(QCMD(Q_GETQUOTA, USRQUOTA), "/nothing", 0, at));
	TRY(1, 1, tcgetattr(file, at));
	TRY(1, 2, readlink("/proc/self/fd/0", at, 0));
	NAMED(1, 3, ssize_t, __readlink_chk, (const char *, char *, size_t, size_t), ("/proc/self/cwd", at, 5, 900));
	NAMED(1, 3, ssize_t, __readlinkat_chk, (int, const char *, char *, size_t, size_t),
	      (AT_FDCWD, "/proc/self/cwd", at, 9, 900));
	NAMED(1, 3, int, __poll_chk, (void *, nfds_t, int, size_t), (at, 1, 0, 900));
	NAMED(1, 3, int, __ppoll_chk, (void *, nfds_t, const struct timespec *, void *, size_t),
	      (at, 1, &(struct timespec){ 0, 0 }, NULL, 900));
	NAMED(0, 3, int, __xstat, (int, const char *, void *), (1, "/proc", at));
	NAMED(0, 3, int, __xstat64, (int, const char *, void *), (1, "/proc", at));
	NAMED(0, 3, int, __lxstat, (int, const char *, void *), (1, "/proc/self", at));
	NAMED(0, 3, int, __lxstat64, (int, const char *, void *), (1, "/proc/self", at));
	NAMED(0, 3, int, __fxstat, (int, int, void *), (1, file, at));
	NAMED(0, 3, int, __fxstat64, (int, int, void *), (1, file, at));
	NAMED(0, 3, int, __fxstatat, (int, int, const char *, void *, int), (1, AT_FDCWD, "/proc", at, 0));
	NAMED(0, 3, int, __fxstatat64, (int, int, const char *, void *, int), (1, AT_FDCWD, "/proc", at, 0));
	TRY(1, 1, ttyname_r(file, at, 100));
	NAMED(1, 1, int, __ttyname_r_chk, (int, char *, size_t, size_t), (file, at, 100, 900));
	NAMED(1, 1, char *, __getcwd_chk, (char *, size_t, size_t), (at, 900, 900) == at);
	TRY(1, 1, realpath("/proc/../usr", at) == at);
	TRY(1, 1, realpath("/nothing/here", at) == NULL);
	NAMED(1, 1, char *, __realpath_chk, (const char *, char *, size_t), ("/usr/..", at, 4096) == at);
	lseek(root, 0, SEEK_SET);
	NAMED(0, 1, ssize_t, getdents64, (int, void *, size_t), (root, at, 500));
	TRY(0, 2, get_entries(-1, at, 500));
	lseek(root, 0, SEEK_SET);
	NAMED(0, 1, ssize_t, getdents64, (int, void *, size_t), (root, nowhere, 500));
	NAMED(0, 1, ssize_t, getdirentries, (int, void *, size_t, void *), (root, at, 500, memory));
	lseek(root, 0, SEEK_SET);
	NAMED(0, 1, ssize_t, getdirentries64, (int, void *, size_t, void *), (root, at, 500, memory));
	*(struct flock *)many(0) = (struct flock){ .l_type = F_WRLCK };
	say("F_GETLK", 0, fcntl(file, F_GETLK, at), 1);
	*(struct flock *)many(0) = (struct flock){ .l_type = F_RDLCK };
	say("F_OFD_GETLK", 0, fcntl64(file, F_OFD_GETLK, at), 1);
	TRY(1, 3, fcntl(file, F_GETLK, at));
	TRY(1, 3, fcntl(file, F_GETOWN_EX, at));
	TRY(1, 3, fcntl(file, F_GET_RW_HINT, at));
	TRY(1, 1, fcntl(file, F_GETFL));
	TRY(1, 1, fcntl(file, F_DUPFD, 900) > 0);
	TRY(1, 1, fcntl(file, F_SETFD, FD_CLOEXEC));
	TRY(1, 1, klogctl(99, at, 10));
	TRY(1, 1, klogctl(3, at, -1));
	unlink(name);
	close(file);
	close(root);
}

static void transfers(void)
{
	char name[] = "/tmp/told_calls.XXXXXX", text[100];
	int file = mkstemp(name), to = open("/dev/null", O_WRONLY), ends[2], pair[2], poll = epoll_create1(0);
	int event = eventfd(1, 0), set = semget(IPC_PRIVATE, 3, 0600), queue = msgget(IPC_PRIVATE, 0600);
	struct iovec part = { place, 5 }, some = { "some", 4 };
	struct mmsghdr *messages = (void *)place;
	struct mq_attr attributes = { .mq_flags = 0, .mq_maxmsg = 3, .mq_msgsize = 100 };
	struct epoll_event wanted = { .events = EPOLLIN, .data.u64 = 9 };
	mqd_t messages_of = mq_open("/told_calls", O_RDWR | O_CREAT, 0600, &attributes);

	unlink(name);
	mq_unlink("/told_calls");
	if (write(file, "0123456789", 10) != 10 || pipe(ends) || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		exit(3);
	epoll_ctl(poll, EPOLL_CTL_ADD, event, &wanted);
	TRY(1, 3, epoll_pwait(poll, at, 4, 0, NULL));
	TRY(1, 1, epoll_pwait(poll, at, 0, 0, NULL));
	NAMED(1, 3, int, epoll_pwait2, (int, void *, int, void *, void *), (poll, at, 4, NULL, NULL));
	TRY(1, 1, eventfd_read(event, at));
	eventfd_write(event, 1);
	TRY(1, 1, eventfd_read(event, nowhere));
	*(off_t *)many(0) = 3;
	say("sendfile", 0, sendfile(to, file, at, 4), 1);
	*(off_t *)many(0) = 30;
	say("sendfile64", 0, sendfile64(to, file, at, 4), 1);
	lseek(file, 0, SEEK_SET);
	say("sendfile", 2, sendfile(to, file, NULL, 4), 1);
	say("sendfile", 1, sendfile(to, file, nowhere, 4), 1);
	*(off64_t *)many(0) = 1;
	say("splice", 0, splice(file, at, ends[1], NULL, 9, 0), 1);
	say("splice", 1, splice(file, nowhere, ends[1], NULL, 9, 0), 1);
	say("splice", 2, splice(file, at, ends[1], nowhere, 9, 0), 1);
	many(0);
	say("vmsplice", 0, vmsplice(ends[0], &part, 1, 0), 1);
	part.iov_base = nowhere;
	say("vmsplice", 1, vmsplice(ends[0], &part, 1, 0), 1);
	part.iov_base = place;
	((off64_t *)many(0))[0] = 2;
	((off64_t *)at)[1] = 20;
	say("copy_file_range", 0, copy_file_range(file, at, file, (off64_t *)at + 1, 5, 0), 1);
	say("copy_file_range", 1, copy_file_range(file, nowhere, file, at, 5, 0), 1);
	many(0);
	say("preadv2", 0, preadv2(file, &part, 1, 3, 0), 1);
	say("preadv2 wrong", 0, preadv2(file, &part, 1, 3, -1), 1);
	say("preadv64v2", 0, preadv64v2(file, &part, 1, 6, 0), 1);
	lseek(file, 1, SEEK_SET);
	say("preadv2 here", 0, preadv2(file, &part, 1, -1, 0), 1);
	fill();
	memset(messages, 0, 3 * sizeof *messages);
	messages[0].msg_hdr = messages[1].msg_hdr = (struct msghdr){ .msg_iov = &some, .msg_iovlen = 1 };
	say("sendmmsg", 0, sendmmsg(pair[0], messages, 2, 0), 0);
	printf("%u %u %u\n", messages[0].msg_len, messages[1].msg_len, messages[2].msg_len);
	say("sent", 0, read(pair[1], text, 100) + read(pair[1], text, 100), 0);
	say("sendmmsg", 1, sendmmsg(pair[0], nowhere, 2, 0), 0);
	say("sendmmsg", 2, sendmmsg(pair[0], messages, 0, 0), 0);
	say("sendmmsg", 3, sendmmsg(-1, messages, 2, 0), 0);
	TRY(0, 3, semctl(set, 0, IPC_STAT, at));
	TRY(1, 3, semctl(set, 0, GETALL, at));
	TRY(1, 1, semctl(set, 1, SETVAL, 7) + semctl(set, 1, GETVAL));
	TRY(1, 1, semctl(-1, 0, IPC_STAT, at));
	TRY(0, 3, msgctl(queue, IPC_STAT, at));
	TRY(1, 1, msgctl(-1, IPC_STAT, at));
	if (messages_of != (mqd_t)-1) {
		TRY(1, 3, mq_getattr(messages_of, at));
		TRY(1, 3, mq_setattr(messages_of, &attributes, at));
	}
	TRY(0, 2, getentropy(at, 200));
	TRY(0, 1, getentropy(at, 300));
	semctl(set, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	if (dlsym(RTLD_DEFAULT, "arc4random_buf")) {
		many(0);
		((void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "arc4random_buf"))(at, 700);
		say("arc4random_buf", 0, memcmp(place, place + 350, 350) != 0, 0);
	}
	close(file);
	close(poll);
	close(event);
	close(to);
}

/* Events of libaio, if it is here: the places of a file that were read. */
static void of_libaio(void)
{
	void *libaio = dlopen("libaio.so.1", RTLD_NOW | RTLD_GLOBAL);
	int (*setup)(int, void **), (*getevents)(void *, long, long, void *, void *);
	int (*pgetevents)(void *, long, long, void *, void *, void *);
	struct timespec none = { 0, 0 };

	if (!libaio)
		return;
	setup = (int (*)(int, void **))dlsym(RTLD_DEFAULT, "io_setup");
	getevents = (int (*)(void *, long, long, void *, void *))dlsym(RTLD_DEFAULT, "io_getevents");
	pgetevents = (int (*)(void *, long, long, void *, void *, void *))dlsym(RTLD_DEFAULT, "io_pgetevents");
	if (!setup || !getevents || !pgetevents)
		exit(3);
	memset(many(0), 0, 8);
	say("io_setup", 0, setup(9, at), 0);
	say("io_getevents", 0, getevents(*(void **)place, 0, 3, place + 8, &none), 0);
	say("io_pgetevents", 0, pgetevents(*(void **)place, 0, 3, place + 8, &none, NULL), 0);
	say("io_setup", 1, setup(9, nowhere), 0);
	say("io_setup", 2, setup(9, (void **)place), 0);
}

static void with(const char *name, char *start)
{
	kind = name;
	memory = start;
	memset(memory, 1, SIZE);
	place = memory + 4 * MIB - (uintptr_t)memory % (2 * MIB) - 24;
	process();
	clocks();
	files();
	transfers();
	of_libaio();
}

int main(void)
{
	with("block", aligned_alloc(4096, SIZE));
	with("shared", mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	with("private", mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	return 0;
}
