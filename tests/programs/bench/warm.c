/* Touches memory and as many bytes of the pool. In a virtual machine that reports free pages to its
   host, the first touch of a page costs many times more than later ones.

   warm MIB */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include "bench.h"

static char *map(size_t bytes, int flags)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

int main(int argc, char **argv)
{
	size_t bytes = size_argument(argc, argv);
	char *p = map(bytes, 0), *pool = map(bytes, MAP_HUGETLB);

	if (p == MAP_FAILED) {
		perror("mmap");
		return 3;
	}
	madvise(p, bytes, MADV_HUGEPAGE);
	memset(p, 1, bytes);
	if (pool != MAP_FAILED)
		memset(pool, 1, bytes);
	return 0;
}
