/* A table that becomes twice as large again and again, as that of a hash does, each time in
   a new block, and then many blocks beside it: what was freed of the smaller tables is not
   to be missing then.

   freed_before MIB_OF_TABLE BLOCKS_OF_100_KB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t most = (size_t)(argc > 1 ? atoi(argv[1]) : 16) << 20, size;
	int blocks = argc > 2 ? atoi(argv[2]) : 600, i;
	char *table = NULL, *larger = NULL;

	for (size = 1 << 16; size <= most; size *= 2) {
		if (!(larger = malloc(size)))
			return 1;
		memset(larger, 1, size * 3 / 4);
		free(table);
		table = larger;
	}
	for (i = 0; i < blocks; i++) {
		if (!(larger = malloc(100000)))
			return 1;
		memset(larger, 2, 100000);
	}
	puts(table && larger && table[7] == 1 && larger[99999] == 2 ? "all right" : "wrong");
	return 0;
}
