/* Messages of many kinds, longer than a few words, in other threads while the process
   forks: each comes once, whole, and with what belongs to it. */
#include "beside_forks.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#define LONG 3000

/* A message, told by its number from others. */
static void write_message(unsigned char *at, unsigned number)
{
	unsigned i;

	for (i = 0; i < LONG; i++)
		at[i] = (unsigned char)(number * 7 + i);
}

static void check_message(const unsigned char *at, unsigned number, const char *who)
{
	unsigned i;

	for (i = 0; i < LONG; i++)
		if (at[i] != (unsigned char)(number * 7 + i))
			fail("%s: byte %u of message %u", who, i, number);
}

static void got(const char *who, long have, long want)
{
	if (have != want)
		fail("%s gives %ld, not %ld (errno %d)", who, have, want, errno);
}

static int pair[2][2];

/* By recv, recvfrom and read, from a socket that has a name. */
static void *take_plainly(void *argument)
{
	unsigned char *block = (take_many(), get(100000)), *copy = get(100000), message[LONG];
	struct sockaddr_un *from = get(40000);
	socklen_t *len = get(40000);
	unsigned number;

	for (number = 0; !stop; number++) {
		write_message(message, number);
		CHECK(send(pair[0][0], message, LONG, 0) == LONG);
		memset(copy, 0, LONG);
		if (number % 4 == 0)
			got("recv", recv(pair[0][1], copy, 90000, MSG_DONTWAIT), LONG);
		else if (number % 4 == 1)
			got("read", read(pair[0][1], copy, 90000), LONG);
		else if (number % 4 == 2) {
			struct iovec parts[2] = {{block, 1000}, {copy + 1000, 9000}};

			got("readv", readv(pair[0][1], parts, 2), LONG);
			memcpy(copy, block, 1000);
		} else {
			*len = sizeof *from;
			memset(from, 0, sizeof *from);
			got("recvfrom", recvfrom(pair[0][1], copy, 90000, MSG_DONTWAIT, (void *)from, len), LONG);
			if (*len != sizeof(sa_family_t) + 9 || from->sun_family != AF_UNIX)
				fail("recvfrom: an address of %u", (unsigned)*len);
		}
		check_message(copy, number, "one");
	}
	return argument;
}

static void send_with_file(int to, unsigned char *message)
{
	union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
	struct iovec part = {message, LONG};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	int file = 0;

	memset(&control, 0, sizeof control);
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.header), &file, sizeof file);
	CHECK(sendmsg(to, &header, 0) == LONG);
}

/* Closes the file that a message has brought. */
static void close_sent(struct msghdr *header, const char *who)
{
	struct cmsghdr *sent = CMSG_FIRSTHDR(header);
	int file;

	if (!sent || sent->cmsg_type != SCM_RIGHTS || header->msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		fail("%s: no file (flags %x)", who, (unsigned)header->msg_flags);
	memcpy(&file, CMSG_DATA(sent), sizeof file);
	CHECK(!close(file));
}

/* By recvmsg and recvmmsg, each message with a file, in two parts. */
static void *take_with_files(void *argument)
{
	unsigned char *parts = (take_many(), get(200000)), message[LONG];
	struct mmsghdr *headers = get(40000);
	struct iovec *vectors = get(40000);
	char *control = get(40000);
	unsigned number, k;

	for (number = 0; !stop; number += 2) {
		memset(parts, 0, 40000);
		memset(headers, 0, 2 * sizeof *headers);
		for (k = 0; k < 2; k++) {
			write_message(message, number + k);
			send_with_file(pair[1][0], message);
			vectors[2 * k] = (struct iovec){parts + 20000 * k, 1000};
			vectors[2 * k + 1] = (struct iovec){parts + 20000 * k + 1000, 9000};
			headers[k].msg_hdr = (struct msghdr){.msg_iov = vectors + 2 * k, .msg_iovlen = 2, .msg_control = control + 4000 * k, .msg_controllen = 4000};
		}
		if (number % 4)
			for (k = 0; k < 2; k++)
				headers[k].msg_len = (unsigned)recvmsg(pair[1][1], &headers[k].msg_hdr, MSG_DONTWAIT);
		else
			got("recvmmsg", recvmmsg(pair[1][1], headers, 2, MSG_DONTWAIT, NULL), 2);
		for (k = 0; k < 2; k++) {
			got("recvmsg", (int)headers[k].msg_len, LONG);
			check_message(parts + 20000 * k, number + k, "parts");
			close_sent(&headers[k].msg_hdr, "recvmsg");
		}
	}
	return argument;
}

static int queue_of_v;
static mqd_t queue;

static void *take_from_queues(void *argument)
{
	struct { long kind; unsigned char text[LONG]; } *one = (take_many(), get(50000)), *message = get(50000);
	unsigned *priority = get(40000), number;

	message->kind = 5;
	for (number = 0; !stop; number++) {
		write_message(message->text, number);
		CHECK(!msgsnd(queue_of_v, message, LONG, 0));
		memset(one, 0, sizeof *one);
		got("msgrcv", msgrcv(queue_of_v, one, LONG, 0, IPC_NOWAIT), LONG);
		if (one->kind != 5)
			fail("msgrcv: kind %ld", one->kind);
		check_message(one->text, number, "msgrcv");
		if (queue == (mqd_t)-1)
			continue;
		CHECK(!mq_send(queue, (char *)message->text, LONG, 3));
		memset(one, 0, sizeof *one);
		*priority = 0;
		got("mq_receive", mq_receive(queue, (char *)one->text, LONG, priority), LONG);
		if (*priority != 3)
			fail("mq_receive: priority %u", *priority);
		check_message(one->text, number, "mq_receive");
	}
	return argument;
}

/* Signals that are waited for, errors of connections, what happens to files. */
static void *take_events(void *argument)
{
	siginfo_t *about = (take_many(), get(40000));
	struct inotify_event *event = get(40000);
	const struct timespec at_once = {0, 0};
	int *error = get(40000), notes = inotify_init1(IN_NONBLOCK);
	socklen_t *len = get(40000);
	sigset_t set;
	char name[] = "/tmp/contract-taken-XXXXXX";
	struct sockaddr_in nowhere = {.sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int file = mkstemp(name), refused = socket(AF_INET, SOCK_DGRAM, 0);

	connect(refused, (void *)&nowhere, sizeof nowhere);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	CHECK(file >= 0 && notes >= 0 && inotify_add_watch(notes, name, IN_MODIFY) > 0 && !unlink(name));
	while (read(notes, event, 9000) > 0)
		;
	while (!stop) {
		CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL) && !pthread_kill(pthread_self(), SIGRTMIN + 3));
		about->si_pid = 0;
		got("sigtimedwait", sigtimedwait(&set, about, &at_once), SIGRTMIN + 3);
		got("sender", about->si_pid, getpid());
		/* Nobody listens there, which is told once. */
		if (send(refused, "x", 1, 0) == 1) {
			*error = 0;
			*len = sizeof *error;
			got("getsockopt", getsockopt(refused, SOL_SOCKET, SO_ERROR, error, len), 0);
			got("error", *error, ECONNREFUSED);
		}
		CHECK(pwrite(file, "x", 1, 0) == 1);
		event->mask = 0;
		got("inotify", read(notes, event, 9000), sizeof *event);
		got("event", event->mask, IN_MODIFY);
	}
	return argument;
}

/* The queue of System V goes, however this process ends. */
static void make_queue(void)
{
	int ends[2];
	char none;

	queue_of_v = msgget(IPC_PRIVATE, 0600);
	CHECK(queue_of_v >= 0 && !pipe(ends));
	if (fork())
		return;
	close(ends[1]);
	if (!read(ends[0], &none, 1))
		msgctl(queue_of_v, IPC_RMID, NULL);
	_exit(0);
}

int main(void)
{
	void *(*const tasks[])(void *) = {take_plainly, take_with_files, take_from_queues, take_events};
	struct sockaddr_un at = {AF_UNIX, ""};
	struct mq_attr shape = {.mq_maxmsg = 2, .mq_msgsize = LONG};
	char name[40];
	int k;

	make_queue();
	fill_heap(60);
	for (k = 0; k < 2; k++)
		CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair[k]));
	snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "%08x", (unsigned)getpid());
	CHECK(!bind(pair[0][0], (void *)&at, sizeof(sa_family_t) + 9));
	snprintf(name, sizeof name, "/contract-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &shape);
	if (queue != (mqd_t)-1)
		mq_unlink(name);
	beside_forks(tasks, 4);
	right();
}
