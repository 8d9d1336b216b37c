/* A large block grows for the first time: what it holds stays, and is not there twice. */
#include "contract.h"
#include <sys/resource.h>

#define LEN (300 * MIB)

static size_t most(void)
{
	struct rusage usage;

	CHECK(!getrusage(RUSAGE_SELF, &usage));
	return (size_t)usage.ru_maxrss << 10;
}

int main(void)
{
	unsigned char *block = get(LEN);
	size_t i, before;

	for (i = 0; i < LEN; i += 512)
		block[i] = (unsigned char)(i / 512 * 7);
	before = most();
	block = realloc(block, LEN + MIB);
	CHECK(block);
	for (i = 0; i < LEN; i += 512)
		CHECK(block[i] == (unsigned char)(i / 512 * 7));
	if (most() > before + LEN / 2)
		fail("%zu MiB more", (most() - before) / MIB);
	right();
}
