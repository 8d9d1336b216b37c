/* Growing realloc: sixteen arrays grow in turn by half and are filled; then every word is
   checked.

   grow MIB */
#include "bench.h"

#define ARRAYS 16

int main(int argc, char **argv)
{
	size_t words = bytes_of(argc, argv) / ARRAYS / 8, had = 0, size, i, k;
	uint64_t *array[ARRAYS] = {0}, sum = 0;

	for (size = 16; had < words; size += size / 2) {
		if (size > words)
			size = words;
		for (i = 0; i < ARRAYS; i++) {
			array[i] = need(realloc(array[i], size * 8));
			for (k = had; k < size; k++)
				array[i][k] = i * k;
		}
		had = size;
	}
	for (i = 0; i < ARRAYS; i++) {
		for (k = 0; k < words; k++)
			sum += array[i][k] == i * k ? k : (damaged("word", k), 0);
		free(array[i]);
	}
	printf("%016lx\n", (unsigned long)sum);
	return 0;
}
