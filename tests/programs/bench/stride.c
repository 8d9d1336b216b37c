/* Strided access: reads one byte of each base page, each in another cache line. Prints the time of
   an access.

   stride MIB */
#include "bench.h"

#define STRIDE (4096 + 64)
#define TIMES 100 /* accesses of each page */

int main(int argc, char **argv)
{
	size_t bytes = size_argument(argc, argv), at = 0, i, accesses = bytes / 4096 * TIMES;
	volatile unsigned char *block = check_alloc(malloc(bytes));
	double took;

	for (i = 0; i < bytes; i += 4096)
		block[i] = (unsigned char)i;
	took = now_seconds();
	for (i = 0; i < accesses; i++) {
		/* The next address depends on the value, which is 0. */
		at += STRIDE + block[at];
		if (at >= bytes)
			at -= bytes;
	}
	took = now_seconds() - took;
	printf("%.3f ns an access\n", took * 1e9 / (double)accesses);
	return 0;
}
