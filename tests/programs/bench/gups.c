/* Random access: updates words of a large table, one update for each four words.

   gups MIB */
#include "bench.h"

int main(int argc, char **argv)
{
	size_t words = bytes_of(argc, argv) / 8, i;
	uint64_t *table = need(malloc(words * 8)), sum = 0;

	for (i = 0; i < words; i++)
		table[i] = i;
	for (i = 0; i < words / 4; i++) {
		uint64_t r = next_number();

		table[(size_t)((unsigned __int128)r * words >> 64)] ^= r;
	}
	for (i = 0; i < words; i++)
		sum ^= table[i] + i;
	printf("%016lx\n", (unsigned long)sum);
	free(table);
	return 0;
}
