/* Fixed time quantum (FTQ): counts the work done in each millisecond, here updates of random
   words. Prints the updates that quanta below the median lack, as a share of all.

   noise MIB MILLISECONDS */
#include "bench.h"

#define QUANTUM 1e-3

static int compare_counts(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t words = size_argument(argc, argv) / 8, i;
	size_t quanta = argc > 2 && atol(argv[2]) > 0 ? (size_t)atol(argv[2]) : 1000;
	uint64_t *table = check_alloc(malloc(words * 8));
	unsigned *work = check_alloc(calloc(quanta, sizeof *work)), median;
	double began, lost = 0;

	for (i = 0; i < words; i++)
		table[i] = i;
	/* Quanta end at fixed times, even if the previous one took too long. */
	for (began = now_seconds(), i = 0; i < quanta; i++)
		while (now_seconds() < began + (double)(i + 1) * QUANTUM) {
			unsigned k;

			for (k = 0; k < 32; k++)
				table[random_below(words)]++;
			work[i]++;
		}
	qsort(work, quanta, sizeof *work, compare_counts);
	median = work[quanta / 2];
	if (!median) {
		fprintf(stderr, "noise: no update in most quanta: the machine is too busy\n");
		return 1;
	}
	for (i = 0; i < quanta / 2; i++)
		lost += median - work[i];
	printf("%.4f %% lost, %u updates a quantum\n", 100 * lost / ((double)median * (double)quanta), median * 32);
	return 0;
}
