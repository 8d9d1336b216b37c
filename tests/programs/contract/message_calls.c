/* Calls by which messages and other things come that come once, right and wrong, into
   memory of the heap, in a process that has had a thread: what each gives, and all that the
   memory then holds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define SIZE (8 * MIB)
#define LEN 5000

#ifdef __GLIBC__
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
#else
#define __read_chk(file, to, len, room) read(file, to, len)
#define __recv_chk(file, to, len, room, flags) recv(file, to, len, flags)
#define __recvfrom_chk(file, to, len, room, flags, who, who_len) recvfrom(file, to, len, flags, who, who_len)
#endif

static char *memory;
static char *volatile nowhere = (char *)8;
static int from, to;

static void say(const char *what, long result)
{
	int error = errno;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < SIZE; i++)
		sum = sum * 31 + (unsigned char)memory[i];
	printf("%s: %ld %d %llx\n", what, result, result < 0 ? error : 0, (unsigned long long)sum);
	fflush(stdout);
	memset(memory, 5, SIZE);
	errno = 0;
}

static void give(size_t len)
{
	static char text[200000];
	size_t i;

	for (i = 0; i < len; i++)
		text[i] = (char)(len + i);
	if (send(from, text, len, 0) != (ssize_t)len)
		exit(3);
}

static void plain(size_t len)
{
	int k;

	struct sockaddr *who = (void *)(memory + 2 * MIB);
	socklen_t *who_len = (void *)(memory + 3 * MIB);

	give(LEN);
	say("read", read(to, memory + MIB - 9, len));
	give(LEN);
	say("__read_chk", __read_chk(to, memory + MIB - 9, len, len + 7));
	give(LEN);
	say("recv", recv(to, memory + MIB - 9, len, 0));
	give(LEN);
	say("recv to look", recv(to, memory, len, MSG_PEEK | MSG_TRUNC));
	say("__recv_chk", __recv_chk(to, memory + MIB - 9, len, len, 0));
	give(LEN);
	say("recvfrom", recvfrom(to, memory + MIB - 9, len, 0, NULL, NULL));
	give(LEN);
	*who_len = 20;
	say("recvfrom whom", recvfrom(to, memory + MIB - 9, len, 0, who, who_len));
	give(LEN);
	*who_len = 3;
	say("__recvfrom_chk", __recvfrom_chk(to, memory + MIB - 9, len, len, 0, who, who_len));
	give(LEN);
	*who_len = (socklen_t)-1;
	k = (int)recvfrom(to, memory, len, 0, who, who_len);
	/* What is lost need not be there. */
	memset(memory, 5, SIZE);
	say("recvfrom wrong", k);
	if (recv(to, memory + 9, 1, MSG_DONTWAIT) < 0)
		errno = 0;
	say("nothing left", 0);
	say("recv none", recv(to, memory, len, MSG_DONTWAIT));
	say("recv from none", recv(-1, memory, len, 0));
	say("read from none", read(-1, memory, len));
	give(LEN);
	say("recv nowhere", recv(to, nowhere, len, MSG_DONTWAIT));
	if (recv(to, memory + 9, 1, MSG_DONTWAIT) < 0)
		errno = 0;
	say("nothing left", 0);
	give(0);
	say("recv of nothing", recv(to, memory, len, 0));
	give(LEN);
	say("recv into nothing", recv(to, memory, 0, 0));
}

static void in_parts(size_t len)
{
	struct iovec *parts = (void *)(memory + 5 * MIB), own[3];
	struct mmsghdr *all = (void *)(memory + 6 * MIB);
	struct timespec *limit = (void *)(memory + 7 * MIB);
	volatile int fewer = -1;
	int k, round;

	for (round = 0; round < 5; round++) {
		memset(all, 0, 9 * sizeof *all);
		for (k = 0; k < 3; k++) {
			give(LEN - 700 * (size_t)k);
			parts[2 * k].iov_base = memory + 100000 * k + 4090;
			parts[2 * k].iov_len = 777;
			parts[2 * k + 1].iov_base = memory + 100000 * k + 9;
			parts[2 * k + 1].iov_len = len;
			all[k].msg_hdr.msg_iov = parts + 2 * k;
			all[k].msg_hdr.msg_iovlen = 2;
			all[k].msg_hdr.msg_name = memory + 2 * MIB + 200 * k;
			all[k].msg_hdr.msg_namelen = k == 2 ? 4 : 128;
			all[k].msg_hdr.msg_control = k ? memory + 3 * MIB + 1000 * k : NULL;
			all[k].msg_hdr.msg_controllen = k == 1 ? 1000 : k == 2 ? 5 : 0;
		}
		limit->tv_sec = round == 4 ? -1 : 9;
		limit->tv_nsec = 5;
		if (round == 0)
			for (k = 0; k < 3; k++)
				all[k].msg_len = (unsigned)recvmsg(to, &all[k].msg_hdr, k == 1 ? MSG_TRUNC : 0);
		else if (round == 1)
			for (k = 0; k < 3; k++) {
				struct msghdr mine = all[k].msg_hdr;

				memcpy(own, parts + 2 * k, sizeof own);
				mine.msg_iov = own;
				all[k].msg_len = (unsigned)recvmsg(to, &mine, 0);
				all[k].msg_hdr.msg_flags = mine.msg_flags;
				all[k].msg_hdr.msg_controllen = mine.msg_controllen;
			}
		else if (round == 2)
			for (k = 0; k < 3; k++)
				all[k].msg_len = (unsigned)readv(to, parts + 2 * k, 2);
		else
			all[2].msg_hdr.msg_flags = recvmmsg(to, all, round == 3 ? 9 : 3, round == 3 ? MSG_DONTWAIT : MSG_WAITFORONE, round == 3 ? NULL : limit);
		/* Addresses are not the same in each run. */
		for (k = 0; k < 3; k++) {
			all[k].msg_hdr.msg_iov = NULL;
			all[k].msg_hdr.msg_name = all[k].msg_hdr.msg_control = NULL;
		}
		memset(parts, 0, 6 * sizeof *parts);
		say("in parts", round);
	}
	while (recv(to, memory, LEN, MSG_DONTWAIT) >= 0)
		;
	errno = 0;
	say("left", 0);
	memset(all, 0, sizeof *all);
	say("recvmsg none", recvmsg(to, &all->msg_hdr, MSG_DONTWAIT));
	say("recvmmsg none", recvmmsg(to, all, 0, MSG_DONTWAIT, NULL));
	say("recvmmsg from none", recvmmsg(-1, all, 1, 0, NULL));
	give(LEN);
	all->msg_hdr.msg_iovlen = 99999;
	memset(parts, 0, 6 * sizeof *parts);
	say("recvmsg of too many", recvmsg(to, &all->msg_hdr, MSG_DONTWAIT));
	parts[0].iov_base = memory;
	parts[0].iov_len = (size_t)-1 >> 1;
	k = (int)readv(to, parts, 1);
	parts[0].iov_base = NULL;
	say("readv of too much", k);
	give(LEN);
	all->msg_hdr.msg_iov = (void *)nowhere;
	all->msg_hdr.msg_iovlen = 1;
	say("recvmsg by nothing", recvmsg(to, &all->msg_hdr, MSG_DONTWAIT));
#ifdef __GLIBC__
	say("recvmsg nowhere", recvmsg(to, (void *)nowhere, MSG_DONTWAIT));
#endif
	say("readv of fewer than none", readv(to, parts, fewer));
	say("readv from none", readv(-1, parts, 1));
}

static void queues(void)
{
	struct { long kind; char text[LEN]; } *message = (void *)(memory + MIB);
	struct mq_attr shape = {.mq_maxmsg = 2, .mq_msgsize = LEN};
	unsigned *priority = (void *)(memory + 2 * MIB);
	struct timespec past = {1, 0};
	int id = msgget(IPC_PRIVATE, 0600), k;
	char name[40];
	mqd_t queue;

	for (k = 1; k <= 3; k++) {
		message->kind = k;
		if (msgsnd(id, message, (size_t)(LEN - k), 0))
			exit(4);
	}
	say("msgrcv", msgrcv(id, message, LEN, 2, 0));
	say("msgrcv too long", msgrcv(id, message, 100, 0, 0));
	say("msgrcv cut", msgrcv(id, message, 100, 0, MSG_NOERROR));
	say("msgrcv of none", msgrcv(id, message, LEN, 77, IPC_NOWAIT));
	say("msgrcv wrong", msgrcv(id, message, (size_t)-1, 0, 0));
	say("msgrcv wrong", msgrcv(-1, message, LEN, 0, 0));
	msgctl(id, IPC_RMID, NULL);
	snprintf(name, sizeof name, "/calls-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, &shape);
	mq_unlink(name);
	for (k = 0; queue != (mqd_t)-1 && k < 2; k++)
		mq_send(queue, memory, LEN - 9, 7);
	if (queue == (mqd_t)-1)
		return;
	say("mq_receive", mq_receive(queue, memory + 13, LEN, priority));
	say("mq_receive too short", mq_receive(queue, memory + 13, LEN - 1, priority));
	say("mq_timedreceive", mq_timedreceive(queue, memory + 13, LEN, priority, &past));
	say("mq_receive of none", mq_receive(queue, memory + 13, LEN, priority));
	say("mq_timedreceive of none", mq_timedreceive(queue, memory + 13, LEN, NULL, &past));
	mq_close(queue);
}

static void signals(void)
{
	siginfo_t *about = (void *)(memory + MIB);
	struct timespec none = {0, 0}, wrong = {0, -1};
	sigset_t set;
	int k, got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (k = 0; k < 2; k++) {
		raise(SIGUSR1);
		got = k ? sigtimedwait(&set, about, &none) : sigwaitinfo(&set, about);
		/* These are not the same in each run. */
		got += (about->si_pid == getpid()) + (about->si_uid == getuid());
		about->si_pid = 0;
		about->si_uid = 0;
		say(k ? "sigtimedwait" : "sigwaitinfo", got);
		raise(SIGUSR1);
		say("unasked", k ? sigtimedwait(&set, NULL, &none) : sigwaitinfo(&set, NULL));
	}
	say("sigtimedwait none", sigtimedwait(&set, about, &none));
	say("sigtimedwait wrong", sigtimedwait(&set, about, &wrong));
}

static void options(void)
{
	int *value = (void *)(memory + MIB), refused = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t *len = (void *)(memory + 2 * MIB);

	*len = 4;
	say("getsockopt", getsockopt(refused, SOL_SOCKET, SO_ERROR, value, len));
	*len = 1;
	say("getsockopt short", getsockopt(refused, SOL_SOCKET, SO_ERROR, value, len));
	*len = (socklen_t)-4;
	say("getsockopt wrong", getsockopt(refused, SOL_SOCKET, SO_ERROR, value, len));
	*len = 8;
	say("getsockopt type", getsockopt(refused, SOL_SOCKET, SO_TYPE, value, len));
	say("getsockopt nowhere", getsockopt(refused, SOL_SOCKET, SO_ERROR, value, (void *)nowhere));
	say("getsockopt of none", getsockopt(-1, SOL_SOCKET, SO_ERROR, value, len));
}

static void *nothing(void *argument)
{
	return argument;
}

int main(void)
{
	struct sockaddr_un at = {AF_UNIX, ""};
	pthread_t thread;
	int pair[2];

	memory = aligned_alloc(4096, SIZE);
	memset(memory, 5, SIZE);
	if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
		return 2;
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	from = pair[0];
	to = pair[1];
	strcpy(at.sun_path + 1, "calls of messages");
	/* Its name is printed as the kernel hands it over, and is the same in all runs. */
	while (bind(from, (void *)&at, sizeof(sa_family_t) + 1 + sizeof "calls of messages") && errno == EADDRINUSE)
		usleep(1000);
	plain(9000);
	plain(400);
	plain(MIB / 2);
	in_parts(2000);
	in_parts(3);
	in_parts(90000);
	queues();
	signals();
	options();
	return 0;
}
