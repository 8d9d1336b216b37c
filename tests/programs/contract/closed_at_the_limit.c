/* The address space is limited to less than there is: a page of a block of the heap is
   closed to writing, or that is refused for want of memory; and nothing is lost. */
#include "contract.h"
#include <sys/resource.h>

#define SIZE (8 * MIB)

int main(void)
{
	struct rlimit least = {8 * MIB, 8 * MIB}, none = {0, 0};
	char *block, *page;
	size_t i;

	CHECK(!setrlimit(RLIMIT_CORE, &none));
	fill_heap(40);
	block = memset(get_aligned(4096, SIZE), 5, SIZE);
	CHECK(!setrlimit(RLIMIT_AS, &least));
	for (page = block + MIB; page < block + SIZE; page += 2 * MIB) {
		int status, closed = !mprotect(page, 4096, PROT_READ);
		pid_t child;

		CHECK(closed || errno == ENOMEM);
		if (!(child = fork())) {
			*(volatile char *)page = 6;
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		if (closed && !status)
			fail("a page that is closed was written, at %td", page - block);
	}
	for (i = 0; i < SIZE; i += 512)
		CHECK(block[i] == 5);
	check_heap("all");
	right();
}
