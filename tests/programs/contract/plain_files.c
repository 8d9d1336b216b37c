/* A child that nobody has seen come shares the heap, and the pool has no page left, so that
   the kernel stops at each page of it: a read of a file gives all that is asked for, as it
   does of a plain file, where its buffers begin in the middle of pages, too. */
#include "contract.h"
#include "unseen.h"
#include <fcntl.h>
#include <sys/uio.h>

#define BUFFERS 8
#define LEN (MIB - 1001)
#define ALL (BUFFERS * LEN)

static int file;
static struct iovec vectors[BUFFERS];

/* `preadv2`, where libc has it. */
static ssize_t read_at(off_t place)
{
	ssize_t (*function)(int, const struct iovec *, int, off_t, int);
	void *address = dlsym(RTLD_DEFAULT, "preadv2");

	memcpy(&function, &address, sizeof function);
	if (address)
		return function(file, vectors, BUFFERS, place, 0);
	return place < 0 ? readv(file, vectors, BUFFERS) : preadv(file, vectors, BUFFERS, place);
}

static ssize_t read_by(int way)
{
	switch (way) {
	case 0:
		return readv(file, vectors, BUFFERS);
	case 1:
		return preadv(file, vectors, BUFFERS, 0);
	case 2:
		return read_at(-1);
	case 3:
		return read_at(0);
	case 4:
		return read(file, vectors[0].iov_base, ALL);
	default:
		return pread(file, vectors[0].iov_base, ALL, 0);
	}
}

/* Two buffers after one another in all blocks, so that some begin in the middle of a page. */
static void lay_out(char *where, size_t step)
{
	int k;

	for (k = 0; k < BUFFERS; k++)
		vectors[k] = (struct iovec){where + k * step, LEN};
}

static void read_all(int way, char *where)
{
	size_t at = 0, k, i;
	pid_t child;
	ssize_t got;

	lay_out(where, way < 4 ? LEN + 500 : LEN);
	child = unseen_child();
	CHECK(lseek(file, 0, SEEK_SET) == 0);
	errno = 77;
	got = read_by(way);
	if (got != (ssize_t)ALL || errno != 77)
		fail("way %d gives %zd of %zu (errno %d)", way, got, ALL, errno);
	CHECK(lseek(file, 0, SEEK_CUR) == (way % 2 ? 0 : (off_t)ALL));
	end_unseen(child);
	for (k = 0; k < BUFFERS; k++)
		for (i = 0; i < LEN; i++, at++)
			if (((unsigned char *)vectors[k].iov_base)[i] != at % 251)
				fail("way %d: byte %zu of buffer %zu is wrong", way, i, k);
}

int main(void)
{
	char name[] = "/tmp/contract-XXXXXX", *bytes, *where[6];
	size_t k;
	int way;

	file = mkstemp(name);
	bytes = get(ALL);
	for (k = 0; k < ALL; k++)
		bytes[k] = (char)(k % 251);
	CHECK(file >= 0 && !unlink(name) && write(file, bytes, ALL) == (ssize_t)ALL);
	fill_heap(48);
	for (way = 0; way < 6; way++)
		memset(where[way] = get(9 * MIB), 1, 9 * MIB);
	use_up_pool();
	for (way = 0; way < 6; way++)
		read_all(way, where[way] + 100 * way + 300001);
	check_heap("parent");
	right();
}
