/* STREAM on three arrays from malloc, or static ones with -DSTATIC_MIB=N.

   stream MIB: total of all arrays */
#include "bench.h"

#define TIMES 5

#ifdef STATIC_MIB
#define WORDS ((size_t)STATIC_MIB * (1 << 20) / 3 / sizeof(double))
static double a[WORDS], b[WORDS], c[WORDS];
#else
static double *a, *b, *c;
#endif

int main(int argc, char **argv)
{
	size_t n = size_argument(argc, argv) / 3 / sizeof(double), i;
	double best = 1e9, began;
	int times;

#ifdef STATIC_MIB
	if (n > WORDS)
		n = WORDS;
#else
	a = check_alloc(malloc(n * sizeof *a)), b = check_alloc(malloc(n * sizeof *b));
	c = check_alloc(malloc(n * sizeof *c));
#endif
	for (i = 0; i < n; i++)
		a[i] = 1 + (double)(i % 7), b[i] = 2, c[i] = 0;
	for (times = 0; times < TIMES; times++) {
		for (i = 0; i < n; i++)
			c[i] = a[i];
		for (i = 0; i < n; i++)
			b[i] = 0.5 * c[i];
		for (i = 0; i < n; i++)
			c[i] = a[i] + b[i];
		began = now_seconds();
		for (i = 0; i < n; i++)
			a[i] = b[i] + 0.25 * c[i];
		if (now_seconds() - began < best)
			best = now_seconds() - began;
	}
	printf("Triad: %.1f MB/s (%g)\n", 3e-6 * (double)(n * sizeof *a) / best, a[n / 2] + c[n / 3]);
	return 0;
}
