/* Pages that a child shares with its parent, the pool used up, and beside them one
   that a ring writes to. A call that fills all of that must move the ones, and
   leave the other where it is: what the ring reads later is seen. */
#include "contract.h"
#include "ring.h"
#include "unseen.h"
#include <fcntl.h>

#define LENGTH 65536
#define BLOCK (8 * MIB)

static void read_into(struct ring *ring, int file, char *buffer, int byte, const char *when)
{
	int got, i;
	char page[4096];

	memset(page, byte, sizeof page);
	for (i = 0; i < LENGTH; i += 4096)
		CHECK(pwrite(file, page, sizeof page, i) == sizeof page);
	got = ring_read_fixed(ring, file, buffer, LENGTH);
	if (got != LENGTH)
		fail("%s: a fixed read gave %d", when, got);
	for (i = 0; i < LENGTH; i += 4096)
		if (memcmp(buffer + i, page, sizeof page))
			fail("%s: byte %d of the buffer is %d instead of %d", when, i, buffer[i], byte);
}

int main(void)
{
	char name[] = "/tmp/contract-XXXXXX", *block, *buffer;
	int file, zero = open("/dev/zero", O_RDONLY);
	struct ring ring;
	pid_t child;

	fill_heap(40);
	block = get_aligned(4096, BLOCK);
	memset(block, 1, BLOCK);
	buffer = block + BLOCK - 2 * MIB;
	CHECK((file = mkstemp(name)) >= 0 && !unlink(name));
	child = unseen_child();
	if (ring_begin(&ring, buffer, LENGTH)) {
		/* A kernel or a container without it, or no page for the buffer. */
		CHECK(errno == ENOSYS || errno == EPERM || errno == EFAULT || errno == ENOMEM);
		end_unseen(child);
		right();
	}
	read_into(&ring, file, buffer, 'a', "at first");
	use_up_pool();
	CHECK(read(zero, block, BLOCK) == BLOCK);
	CHECK(!block[0] && !block[BLOCK - 1] && !buffer[0]);
	read_into(&ring, file, buffer, 'b', "after a call that fills what is around");
	end_unseen(child);
	read_into(&ring, file, buffer, 'c', "after the child");
	write_heap();
	check_heap("parent");
	right();
}
