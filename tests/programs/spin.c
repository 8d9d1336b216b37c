/* Counts to N, or to half of it with GLIBC_TUNABLES.

   spin N */
#include <stdlib.h>

int main(int argc, char **argv)
{
	volatile long count = 0;
	long n;

	if (argc != 2)
		return 1;
	n = atol(argv[1]);
	if (getenv("GLIBC_TUNABLES"))
		n /= 2;
	while (count < n)
		count++;
	return 0;
}
