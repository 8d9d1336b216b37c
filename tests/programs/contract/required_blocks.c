/* Blocks that no arena is large enough for, by every call that there is for one. */
#include "contract.h"
#include <malloc.h>

#define LENGTH (60 * MIB)

static void use(void *block)
{
	CHECK(block);
	memset(block, 1, LENGTH);
	free(block);
}

int main(void)
{
	use(malloc(LENGTH));
	use(calloc(1, LENGTH));
	use(realloc(NULL, LENGTH));
	use(aligned_alloc(64, LENGTH));
	use(get_aligned(4096, LENGTH));
	use(memalign(65536, LENGTH));
	use(realloc(get(12 * MIB), LENGTH));
	right();
}
