/* Touches so much memory and gives it back, for the run that follows: in a
   virtual machine that tells its host which pages are free, the first touch of
   a page costs many times what later ones cost.

   warm MIB */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include "bench.h"

int main(int argc, char **argv)
{
	size_t bytes = bytes_of(argc, argv);
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		return 3;
	}
	madvise(p, bytes, MADV_HUGEPAGE); /* where there are none, it takes longer */
	memset(p, 1, bytes);
	return 0;
}
