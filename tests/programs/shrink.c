/* Fills and frees 100 MiB, and prints what smaps says before and after. */
#include "heap_pages.h"

int main(void)
{
	static char *block[100];

	for (int i = 0; i < 100; i++) {
		block[i] = malloc(1 << 20);
		if (!block[i])
			return 3;
		memset(block[i], i + 1, 1 << 20);
	}
	print_heap_pages("full");
	for (int i = 0; i < 100; i++)
		free(block[i]);
	print_heap_pages("freed");
	return 0;
}
