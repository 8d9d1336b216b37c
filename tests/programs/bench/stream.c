/* STREAM on three arrays from malloc.

   stream MIB: total of all arrays */
#include "bench.h"

#define TIMES 5

static double sum(const double *v, size_t n)
{
	double s = 0;
	size_t i;

	for (i = 0; i < n; i++)
		s += v[i];
	return s;
}

int main(int argc, char **argv)
{
	size_t n = bytes_of(argc, argv) / 3 / sizeof(double), i;
	double *a = need(malloc(n * sizeof *a)), *b = need(malloc(n * sizeof *b)), *c = need(malloc(n * sizeof *c));
	int times;

	for (i = 0; i < n; i++)
		a[i] = 1 + (double)(i % 7), b[i] = 2, c[i] = 0;
	for (times = 0; times < TIMES; times++) {
		for (i = 0; i < n; i++)
			c[i] = a[i];
		for (i = 0; i < n; i++)
			b[i] = 0.5 * c[i];
		for (i = 0; i < n; i++)
			c[i] = a[i] + b[i];
		for (i = 0; i < n; i++)
			a[i] = b[i] + 0.25 * c[i];
	}
	printf("%a %a %a\n", sum(a, n), sum(b, n), sum(c, n));
	free(a);
	free(b);
	free(c);
	return 0;
}
