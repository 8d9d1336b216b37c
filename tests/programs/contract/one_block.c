/* One block, larger than what the pool has: the first pages of it that the process gets
   are fewer than it asks for. A child shares them, and there is no second one. */
#include "contract.h"
#include "unseen.h"
#include <fcntl.h>

#define LENGTH (160 * MIB)

static void look(const unsigned char *block, int byte, const char *when)
{
	size_t k;

	for (k = 0; k < LENGTH; k += 512)
		if (block[k] != byte)
			fail("%s: byte %zu is %d", when, k, block[k]);
}

int main(void)
{
	unsigned char *block = get(LENGTH);
	int zero = open("/dev/zero", O_RDONLY);
	pid_t child;
	size_t k;

	memset(block, 1, LENGTH);
	check_on_pool();
	child = unseen_child();
	use_up_pool();
	for (k = 0; k < LENGTH / 2; k += 4096)
		*(volatile unsigned char *)(block + k) = 1;
	look(block, 1, "written");
	CHECK(read(zero, block, LENGTH) == LENGTH);
	look(block, 0, "read");
	end_unseen(child);
	right();
}
