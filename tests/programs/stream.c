/* STREAM on three static arrays, with megabytes of code and of initialized data. Prints the
   exact result and the pages of its segments.

   stream [stay]
   stay: waits for the end of its input. */
#include "segments.h"

#ifndef N
#define N (5 * 1000 * 1000) /* 40 MB each */
#endif
static double a[N], b[N], c[N];
static long table[700 * 1000] = {1, 2, 3};

/* `triad` lies between megabytes of unused code, so that it is moved with them. */
__asm__(".pushsection .text\nbefore: .fill 3 << 20, 1, 0\n.popsection\n"
	".pushsection .text.moved, \"ax\", @progbits\n.popsection\n"
	".pushsection .text.moved_last, \"ax\", @progbits\nbehind: .fill 3 << 20, 1, 0\n.popsection\n");
#define MOVED __attribute__((noinline, section(".text.moved")))
MOVED static double triad(double x)
{
	int i;

	for (i = 0; i < N; i++)
		a[i] = b[i] + x * c[i];
	return a[N / 2];
}

static double sum(const double *v)
{
	double s = 0;
	int i;

	for (i = 0; i < N; i++)
		s += v[i] * (1 + i % 3);
	return s;
}

int main(int argc, char **argv)
{
	int i, round;

	for (i = 0; i < N; i++)
		a[i] = 1 + i % 7, b[i] = 2;
	for (i = 3; i < 700 * 1000; i++)
		table[i] = table[i - 1] + table[i - 2] - table[i - 3];
	for (round = 0; round < 2; round++) {
		for (i = 0; i < N; i++)
			c[i] = a[i];
		for (i = 0; i < N; i++)
			b[i] = 0.5 * c[i];
		for (i = 0; i < N; i++)
			c[i] = a[i] + b[i];
		triad(0.25);
	}
	printf("result %a %a %a %ld\n", sum(a), sum(b), sum(c), table[699999]);
	print_segments();
	if (argc > 1 && !strcmp(argv[1], "stay"))
		getchar();
	return 0;
}
