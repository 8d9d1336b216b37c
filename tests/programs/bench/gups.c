/* Random access: makes one update for each four words of a large table. Prints millions of
   updates a second. (GUPS prints billions.)

   gups MIB */
#include "bench.h"

int main(int argc, char **argv)
{
	size_t words = size_argument(argc, argv) / 8, i;
	uint64_t *table = check_alloc(malloc(words * 8)), sum = 0;
	double took;

	for (i = 0; i < words; i++)
		table[i] = i;
	took = now_seconds();
	for (i = 0; i < words / 4; i++) {
		uint64_t r = next_random();

		table[(size_t)((unsigned __int128)r * words >> 64)] ^= r;
	}
	took = now_seconds() - took;
	for (i = 0; i < words; i++)
		sum ^= table[i] + i;
	printf("%.2f million updates/s (%016lx)\n", 1e-6 * (double)(words / 4) / took, (unsigned long)sum);
	free(table);
	return 0;
}
