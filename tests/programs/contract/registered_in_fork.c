/* Another thread registers buffers with rings just while the heap moves for a fork:
   what the rings read into them is seen afterwards, in the parent. */
#include "contract.h"
#include "ring.h"
#include <fcntl.h>

#define LENGTH 65536
#define COUNT 48

static volatile int forks, forked;
static struct ring ring[COUNT];
static int registered;

static void *begin_rings(void *argument)
{
	while (!forks)
		;
	/* What is open when a fork begins is no surprise to it. */
	usleep(1000);
	for (; registered < COUNT && !forked; registered++)
		if (ring_begin(&ring[registered], heap_blocks[registered], LENGTH))
			break;
	return argument;
}

int main(void)
{
	static char bytes[LENGTH];
	char name[] = "/tmp/contract-XXXXXX";
	pthread_t other;
	int file, i;
	pid_t child;

	fill_heap(80);
	memset(bytes, 'a', LENGTH);
	CHECK((file = mkstemp(name)) >= 0 && !unlink(name));
	CHECK(pwrite(file, bytes, LENGTH, 0) == LENGTH);
	other = start(begin_rings, NULL);
	forks = 1;
	child = fork();
	forked = 1;
	if (!child) {
		check_heap("child");
		_exit(0);
	}
	CHECK(child > 0 || errno == ENOMEM);
	CHECK(!pthread_join(other, NULL));
	for (i = 0; i < registered; i++) {
		if (ring_read_fixed(&ring[i], file, heap_blocks[i], LENGTH) != LENGTH)
			fail("the read of ring %d fails", i);
		if (memcmp(heap_blocks[i], bytes, LENGTH))
			fail("buffer %d of %d, registered during the fork, does not hold the data", i, registered);
	}
	if (child > 0)
		wait_for(child, "fork");
	right();
}
