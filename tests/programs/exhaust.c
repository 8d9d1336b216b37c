/* Takes and fills blocks of one size until malloc fails, at most 1 GiB. Prints their MiB.

   exhaust BYTES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, total = 0;
	char *block;

	while (total < ((size_t)1 << 30) && (block = malloc(size))) {
		memset(block, 1, size);
		total += size;
	}
	printf("%zu\n", total >> 20);
	return 0;
}
