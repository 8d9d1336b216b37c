/* Calls that tell something, by other threads while the process forks, into memory of the
   heap: none is refused, and what is told once is not lost. */
#include "beside_forks.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/xattr.h>

static void came(const char *who, long have, long want)
{
	if (have != want)
		fail("%s gives %ld, not %ld (errno %d)", who, have, want, errno);
}

#define CAME(call) came(#call, (long)(call), 0)

static void *about_the_process(void *argument)
{
	take_many();
	struct rusage *usage = get(40000);
	struct rlimit *limit = get(40000), *old = get(40000);
	struct utsname *names = get(40000);
	struct sysinfo *about = get(40000);
	struct timespec *step = get(40000);
	gid_t *groups = get(300000);
	cpu_set_t *set = get(40000);
	uid_t *users = get(40000);
	char *bytes = get(40000), *other = get(40000), *name = get(40000);
	struct iovec to = {bytes, 9000}, from = {other, 9000};
	unsigned char *pages = get(40000);

	memset(other, 'v', 9000);
	while (!stop) {
		CAME(getrusage(RUSAGE_SELF, usage));
		CAME(getrlimit(RLIMIT_NOFILE, limit));
		old->rlim_cur = 0;
		CAME(prlimit(0, RLIMIT_NOFILE, limit, old));
		came("the old limit", old->rlim_cur == limit->rlim_cur, 1);
		CAME(uname(names));
		CAME(sysinfo(about));
		CAME(sched_rr_get_interval(0, step));
		CHECK(getgroups(65536, groups) >= 0);
		CAME(getresuid(users, users + 1, users + 2));
		CAME(getresgid(users, users + 1, users + 2));
		CHECK(sched_getaffinity(0, sizeof *set, set) >= 0);
		CAME(pthread_getaffinity_np(pthread_self(), sizeof *set, set));
		CAME(pthread_getname_np(pthread_self(), name, 40));
		CAME(mincore((void *)((uintptr_t)came & -4096ul), 1, pages));
		memset(bytes, 'w', 9000);
		came("process_vm_readv", process_vm_readv(getpid(), &to, 1, &from, 1, 0), 9000);
		came("its bytes", memcmp(bytes, other, 9000), 0);
		memset(bytes, 'w', 9000);
		came("process_vm_writev", process_vm_writev(getpid(), &from, 1, &to, 1, 0), 9000);
		came("its bytes", memcmp(bytes, other, 9000), 0);
	}
	return argument;
}

static void *about_time(void *argument)
{
	take_many();
	struct itimerval *value = get(40000), long_time = {{0, 0}, {100000, 0}};
	struct itimerspec *spec = get(40000), *old = get(40000), later = {{0, 0}, {100000, 0}};
	struct tms *used = get(40000);
	struct timespec *step = get(40000);
	struct timex *clock = get(40000);
	sigset_t *signals = get(40000);
	int file = timerfd_create(CLOCK_MONOTONIC, 0);
	timer_t timer;
	struct sigevent none = {.sigev_notify = SIGEV_NONE};

	CHECK(file >= 0 && !timer_create(CLOCK_MONOTONIC, &none, &timer));
	CHECK(!timerfd_settime(file, 0, &later, NULL) && !timer_settime(timer, 0, &later, NULL));
	CHECK(!setitimer(ITIMER_VIRTUAL, &long_time, NULL));
	memset(clock, 0, sizeof *clock);
	while (!stop) {
		CAME(getitimer(ITIMER_VIRTUAL, value));
		memset(value, 0, sizeof *value);
		CAME(setitimer(ITIMER_VIRTUAL, &long_time, value));
		came("the old value", value->it_value.tv_sec > 90000, 1);
		CAME(timer_gettime(timer, spec));
		old->it_value.tv_sec = 0;
		CAME(timer_settime(timer, 0, &later, old));
		came("the old timer", old->it_value.tv_sec > 90000, 1);
		CAME(timerfd_gettime(file, spec));
		old->it_value.tv_sec = 0;
		CAME(timerfd_settime(file, 0, &later, old));
		came("the old file", old->it_value.tv_sec > 90000, 1);
		CAME(clock_getres(CLOCK_THREAD_CPUTIME_ID, step));
		used->tms_utime = -1;
		CHECK(times(used) > 1000);
		came("no time", used->tms_utime == -1, 0);
		CHECK(adjtimex(clock) >= 0);
		CHECK(clock_adjtime(CLOCK_REALTIME, clock) >= 0);
		CAME(sigpending(signals));
	}
	return argument;
}

static void *about_files(void *argument)
{
	take_many();
	struct statfs *about = get(40000);
	struct flock *lock = get(40000);
	char *value = get(70000), *link = get(40000), name[] = "/tmp/told.XXXXXX";
	int file = mkstemp(name), root = open("/", O_RDONLY | O_DIRECTORY);
	int has = file >= 0 && !setxattr(name, "user.told", "value", 5, 0);
	ssize_t (*entries)(int, void *, size_t) =
		(ssize_t (*)(int, void *, size_t))dlsym(RTLD_DEFAULT, "getdents64");
	long all = -1, now;

	CHECK(file >= 0 && root >= 0);
	while (!stop) {
		CAME(statfs("/", about));
		CAME(fstatfs(file, about));
		*lock = (struct flock){.l_type = F_WRLCK};
		CAME(fcntl(file, F_GETLK, lock));
		came("a lock", lock->l_type, F_UNLCK);
		came("a path", realpath("/proc/self/..", link) == link, 1);
		came("getxattr", getxattr(name, "user.told", value, 70000), has ? 5 : -1);
		came("fgetxattr", fgetxattr(file, "user.told", value, 70000), has ? 5 : -1);
		came("listxattr", listxattr(name, value, 70000) >= 0 || errno == ENOTSUP, 1);
		came("flistxattr", flistxattr(file, value, 70000) >= 0 || errno == ENOTSUP, 1);
		if (!entries)
			continue;
		CHECK(lseek(root, 0, SEEK_SET) == 0);
		for (now = 0;;) {
			ssize_t got = entries(root, value, 300);

			if (got < 0)
				fail("getdents64 gives %zd (errno %d)", got, errno);
			if (!got)
				break;
			now += got;
		}
		if (all < 0)
			all = now;
		came("the entries", now, all);
	}
	CHECK(!unlink(name));
	return argument;
}

static void *move_and_wait(void *argument)
{
	take_many();
	off_t *place = get(40000);
	uint64_t *count = get(40000), one = 1;
	struct epoll_event *events = get(40000), event = {.events = EPOLLIN, .data.u64 = 7};
	struct mmsghdr *messages = get(40000);
	struct iovec text = {"some", 4}, part;
	char *bytes = get(40000), name[] = "/tmp/moves.XXXXXX", drained[100];
	int file = mkstemp(name), to = open("/dev/null", O_WRONLY), pair[2], ends[2];
	int ready = eventfd(1, 0), counter = eventfd(0, 0), waits = epoll_create1(0);
	int set = semget(IPC_PRIVATE, 3, 0600), queue = msgget(IPC_PRIVATE, 0600);
	struct semid_ds *of_set = get(40000);
	struct msqid_ds *of_queue = get(40000);
	unsigned short *values = get(40000);

	CHECK(file >= 0 && to >= 0 && !unlink(name) && write(file, "0123456789", 10) == 10);
	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) && !pipe(ends));
	CHECK(!epoll_ctl(waits, EPOLL_CTL_ADD, ready, &event));
	part = (struct iovec){bytes, 100};
	while (!stop) {
		*place = 2;
		came("sendfile", sendfile(to, file, place, 5), 5);
		came("its place", *place, 7);
		*place = 4;
		came("splice", splice(file, place, ends[1], NULL, 3, 0), 3);
		came("its place", *place, 7);
		bytes[0] = 0;
		came("vmsplice", vmsplice(ends[0], &part, 1, 0), 3);
		came("its bytes", memcmp(bytes, "456", 3), 0);
#ifdef __GLIBC__
		bytes[0] = 0;
		came("preadv2", preadv2(file, &part, 1, 1, 0), 9);
		came("its bytes", memcmp(bytes, "123456789", 9), 0);
#endif
		memset(messages, 0, 2 * sizeof *messages);
		messages[0].msg_hdr = messages[1].msg_hdr = (struct msghdr){.msg_iov = &text, .msg_iovlen = 1};
		came("sendmmsg", sendmmsg(pair[0], messages, 2, 0), 2);
		came("its lengths", messages[0].msg_len + messages[1].msg_len, 8);
		CHECK(read(pair[1], drained, 100) == 4 && read(pair[1], drained, 100) == 4);
		came("no more", recv(pair[1], drained, 100, MSG_DONTWAIT), -1);
		CHECK(write(counter, &one, 8) == 8);
		*count = 0;
		CAME(eventfd_read(counter, count));
		came("its count", (long)*count, 1);
		events->data.u64 = 0;
		came("epoll_pwait", epoll_pwait(waits, events, 4, 0, NULL), 1);
		came("its event", (long)events->data.u64, 7);
		CAME(getentropy(bytes, 200));
		if (set >= 0) {
			CAME(semctl(set, 0, IPC_STAT, of_set));
			CAME(semctl(set, 0, GETALL, values));
		}
		if (queue >= 0)
			CAME(msgctl(queue, IPC_STAT, of_queue));
	}
	semctl(set, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	return argument;
}

#ifdef __GLIBC__
struct request {
	uint64_t data, key;
	uint16_t task, priority;
	uint32_t file;
	void *buffer;
	uint64_t len, place, others[2];
};

/* Events of libaio, if it is here: each comes once. */
static void take_events(void)
{
	void *libaio = dlopen("libaio.so.1", RTLD_NOW | RTLD_GLOBAL);
	int (*setup)(int, void **) = (int (*)(int, void **))dlsym(RTLD_DEFAULT, "io_setup");
	int (*submit)(void *, long, void **) = (int (*)(void *, long, void **))dlsym(RTLD_DEFAULT, "io_submit");
	int (*events_of)(void *, long, long, void *, void *) =
		(int (*)(void *, long, long, void *, void *))dlsym(RTLD_DEFAULT, "io_getevents");
	char name[] = "/tmp/events.XXXXXX", bytes[10];
	struct request request = {.buffer = bytes, .len = 10}, *list = &request;
	uint64_t *events = get(40000);
	void **context = get(40000);
	int file = mkstemp(name);

	*context = NULL;
	if (!libaio || !submit || setup(9, context))
		return;
	CHECK(file >= 0 && !unlink(name) && write(file, "0123456789", 10) == 10);
	request.file = (uint32_t)file;
	while (!stop) {
		request.data++;
		came("io_submit", submit(*context, 1, (void **)&list), 1);
		came("io_getevents", events_of(*context, 1, 5, events, NULL), 1);
		came("its event", events[0] == request.data && events[2] == 10, 1);
	}
}

static void *about_events(void *argument)
{
	take_many();
	take_events();
	return argument;
}
#endif

int main(void)
{
	void *(*const tasks[])(void *) = {
		about_the_process, about_time, about_files, move_and_wait,
#ifdef __GLIBC__
		about_events,
#endif
	};

	fill_heap(60);
	beside_forks(tasks, sizeof tasks / sizeof *tasks);
	right();
}
