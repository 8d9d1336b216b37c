/* Other threads ask the kernel, and take long messages, while the process forks: each answer
   comes, into memory of the heap, and no message is lost or cut. */
#include "beside_forks.h"
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>

/* Longer than most messages ever are. */
#define MESSAGE ((size_t)300 << 10)
#define ROOM ((size_t)900 << 10)

/* A block that is not among the first ones of the heap, on base pages. */
static void *place(size_t size)
{
	take_many();
	return get(size);
}

static void came(const char *who, long have, long want)
{
	if (have != want)
		fail("%s gives %ld, not %ld (errno %d)", who, have, want, errno);
}

static void *ask_devices(void *argument)
{
	int *ready = place(40000), ends[2], terminal = posix_openpt(O_RDWR | O_NOCTTY);
	struct winsize *size = place(40000);
	struct termios *modes = place(40000);

	CHECK(!pipe(ends) && write(ends[1], "12345", 5) == 5);
	while (!stop) {
		*ready = 0;
		came("FIONREAD", ioctl(ends[0], FIONREAD, ready), 0);
		came("bytes", *ready, 5);
		if (terminal < 0)
			continue;
		came("TIOCGWINSZ", ioctl(terminal, TIOCGWINSZ, size), 0);
		came("TCGETS", ioctl(terminal, TCGETS, modes), 0);
	}
	came("a bad address", ioctl(ends[0], FIONREAD, (void *)8), -1);
	came("its error", errno, EFAULT);
	return argument;
}

static void *ask_sockets(void *argument)
{
	struct sockaddr_in *own = place(40000), *other = place(40000);
	socklen_t *len = place(40000), at_len = sizeof(struct sockaddr_in);
	int *kind = place(40000);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int here = socket(AF_INET, SOCK_STREAM, 0), there = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(!bind(here, (void *)&at, sizeof at) && !listen(here, 1) && !getsockname(here, (void *)&at, &at_len));
	CHECK(!connect(there, (void *)&at, sizeof at));
	while (!stop) {
		*len = sizeof *own;
		came("getsockname", getsockname(there, (void *)own, len), 0);
		came("its length", *len, sizeof *own);
		*len = sizeof *other;
		came("getpeername", getpeername(there, (void *)other, len), 0);
		came("the port", other->sin_port, at.sin_port);
		*len = sizeof *kind;
		*kind = 0;
		came("getsockopt", getsockopt(there, SOL_SOCKET, SO_TYPE, kind, len), 0);
		came("the type", *kind, SOCK_STREAM);
	}
	return argument;
}

static void *make_pairs(void *argument)
{
	int *ends = place(40000);
	char byte;
	int k;

	for (k = 0; !stop; k++) {
		if (k % 3 == 0)
			came("pipe", pipe(ends), 0);
		else if (k % 3 == 1)
			came("pipe2", pipe2(ends, O_CLOEXEC), 0);
		else
			came("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		CHECK(write(ends[1], "x", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'x');
		CHECK(!close(ends[0]) && !close(ends[1]));
	}
	return argument;
}

/* By recv, recvmsg and read, into more room than messages need. */
static void *take_long_messages(void *argument)
{
	unsigned char *message = malloc(MESSAGE), *block = place(ROOM);
	struct msghdr *header = place(40000);
	struct iovec *parts = place(40000);
	int pair[2], room = (int)MESSAGE;
	size_t sent = MESSAGE, at;
	unsigned number;

	CHECK(message && !socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	CHECK(!setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room));
	for (number = 0; !stop; number++) {
		long got;

		for (at = 0; at < sent; at += 64)
			message[at] = (unsigned char)(number + at / 64);
		if (send(pair[0], message, sent, 0) != (ssize_t)sent) {
			/* This machine lets no message be so long. */
			CHECK(errno == EMSGSIZE && sent > 1000);
			sent /= 2;
			continue;
		}
		memset(block, 0, sent);
		parts[0] = (struct iovec){block, sent / 2};
		parts[1] = (struct iovec){block + sent / 2, ROOM - sent / 2};
		*header = (struct msghdr){.msg_iov = parts, .msg_iovlen = 2};
		if (number % 3 == 0)
			got = recv(pair[1], block, ROOM, MSG_DONTWAIT);
		else if (number % 3 == 1)
			got = read(pair[1], block, ROOM);
		else
			got = recvmsg(pair[1], header, MSG_DONTWAIT);
		came("a message", got, (long)sent);
		for (at = 0; at < sent; at += 64)
			if (block[at] != (unsigned char)(number + at / 64))
				fail("byte %zu of message %u is %d", at, number, block[at]);
	}
	return argument;
}

int main(void)
{
	void *(*const tasks[])(void *) = {ask_devices, ask_sockets, make_pairs, take_long_messages};

	fill_heap(60);
	beside_forks(tasks, 4);
	right();
}
