/* System calls that write straight into the heap, around forks: read, readv,
   O_DIRECT and recv, by threads while the main thread forks, and by parent and
   child after it. Every byte is checked, and no call may fail.

   fork_io FILE [times] [threads]
   FILE is written first; it should lie where O_DIRECT works. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK ((size_t)64 << 10)
#define CHUNKS 64
#define BLOCK ((size_t)1 << 20)
#define BLOCKS 160

static const char *path;
static char *block[BLOCKS];
static _Atomic int stop;
static _Atomic long calls;

static void fail(const char *who, const char *what)
{
	fprintf(stderr, "%s: %s (errno %d)\n", who, what, errno);
	_exit(4);
}

static uint64_t word(size_t chunk, size_t at)
{
	return chunk * 1000003 + at * 7 + 1;
}

static void fill(char *to, size_t chunk)
{
	size_t at;

	for (at = 0; at < CHUNK / 8; at++)
		((uint64_t *)to)[at] = word(chunk, at);
}

static void check(const char *who, const char *what, const char *from, size_t chunk)
{
	size_t at;

	for (at = 0; at < CHUNK / 8; at++)
		if (((const uint64_t *)from)[at] != word(chunk, at))
			fail(who, what);
}

static void write_file(void)
{
	char *buffer = malloc(CHUNK);
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	size_t chunk;

	for (chunk = 0; chunk < CHUNKS; chunk++) {
		fill(buffer, chunk);
		if (write(fd, buffer, CHUNK) != (ssize_t)CHUNK)
			fail("start", "the file cannot be written");
	}
	if (fsync(fd) || close(fd))
		fail("start", "the file cannot be written");
	free(buffer);
}

/* What one thread reads from. */
struct source {
	int plain, direct, pair[2];
};

static void open_source(struct source *s)
{
	s->plain = open(path, O_RDONLY);
	s->direct = open(path, O_RDONLY | O_DIRECT);
	if (s->plain < 0 || s->direct < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, s->pair))
		fail("start", "cannot open what is read from");
}

static void one_read(const char *who, struct source *s, char *to, size_t chunk, int kind)
{
	static const char *const names[] = {"read", "readv", "O_DIRECT", "recv"};
	struct iovec parts[2] = {{to, CHUNK / 4}, {to + CHUNK / 4, CHUNK - CHUNK / 4}};
	off_t at = (off_t)(chunk * CHUNK);
	ssize_t got;

	memset(to, 0xee, CHUNK);
	switch (kind) {
	case 0: got = lseek(s->plain, at, SEEK_SET) == at ? read(s->plain, to, CHUNK) : -1; break;
	case 1: got = preadv(s->plain, parts, 2, at); break;
	case 2: got = pread(s->direct, to, CHUNK, at); break;
	default: {
		static __thread char message[CHUNK];

		fill(message, chunk);
		got = send(s->pair[0], message, CHUNK, 0);
		if (got == (ssize_t)CHUNK)
			got = recv(s->pair[1], to, CHUNK, MSG_DONTWAIT);
	}
	}
	if (got != (ssize_t)CHUNK)
		fail(who, names[kind]);
	check(who, names[kind], to, chunk);
	calls++;
}

static void *reader(void *arg)
{
	size_t turn = (size_t)arg;
	char *own[8];
	struct source s;
	int i;

	open_source(&s);
	for (i = 0; i < 8; i++)
		if (posix_memalign((void **)&own[i], 4096, BLOCK))
			fail("reader", "no memory");
	while (!stop) {
		turn++;
		one_read("reader", &s, own[turn % 8] + turn / 8 % 16 * CHUNK, turn % CHUNKS, (int)(turn / 3 % 4));
	}
	return NULL;
}

/* Reads over all blocks. */
static void read_all(const char *who, struct source *s, size_t seed)
{
	size_t b;

	for (b = 0; b < BLOCKS; b++)
		one_read(who, s, block[b] + (b + seed) % 16 * CHUNK, (b + seed) % CHUNKS, (int)((b + seed) % 4));
}

/* Waits until all who may write to a pipe have closed it. */
static void wait_for_end(int end[2])
{
	char byte;

	close(end[1]);
	if (read(end[0], &byte, 1) != 0)
		fail("order", "read");
	close(end[0]);
}

static void one_fork(struct source *s, size_t seed, char first)
{
	int parent_done[2], child_done[2], status;
	size_t b;
	pid_t pid;

	for (b = 0; b < BLOCKS; b++)
		fill(block[b] + 15 * CHUNK, b + seed);
	if (pipe(parent_done) || pipe(child_done))
		fail("parent", "pipe");
	pid = fork();
	if (pid < 0)
		fail("parent", "fork");
	if (pid == 0) {
		struct source own;

		if (first == 'p')
			wait_for_end(parent_done);
		for (b = 0; b < BLOCKS; b++)
			check("child", "the heap after the fork", block[b] + 15 * CHUNK, b + seed);
		open_source(&own);
		read_all("child", &own, seed);
		_exit(0);
	}
	if (first == 'c')
		wait_for_end(child_done);
	read_all("parent", s, seed + 1);
	close(parent_done[0]);
	close(parent_done[1]);
	if (first != 'c') {
		close(child_done[0]);
		close(child_done[1]);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("parent", "the child");
}

int main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 1, threads = argc > 3 ? atoi(argv[3]) : 0, i;
	pthread_t thread[64];
	char first = argc > 4 ? argv[4][0] : 'b';
	struct source s;

	path = argv[1];
	write_file();
	open_source(&s);
	for (i = 0; i < BLOCKS; i++) {
		if (posix_memalign((void **)&block[i], 4096, BLOCK))
			fail("start", "no memory");
		memset(block[i], 1, BLOCK);
	}
	for (i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, reader, (void *)(size_t)(i * 5));
	for (i = 0; i < times; i++) {
		long before = calls;

		/* The readers are at work. */
		while (threads && calls == before)
			usleep(1000);
		one_fork(&s, (size_t)i, first);
	}
	stop = 1;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	puts("right");
	unlink(path);
	return 0;
}
