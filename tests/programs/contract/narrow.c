/* In a narrow address space (`ulimit -v`) many small blocks leave room for a large one. */
#include "contract.h"

#define SMALL ((size_t)10000)

int main(void)
{
	size_t done;
	char *large;

	for (done = 0; done < 150 * MIB; done += SMALL)
		memset(get(SMALL), 1, SMALL);
	large = get(200 * MIB);
	memset(large, 1, 200 * MIB);
	free(large);
	CHECK(get(250 * MIB));
	right();
}
