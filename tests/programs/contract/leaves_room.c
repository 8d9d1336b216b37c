/* Under `ulimit -v`, small blocks leave room for thread stacks and a mapping of the program. */
#include "contract.h"

static void *allocate(void *argument)
{
	memset(get(100), 1, 100);
	return argument;
}

int main(void)
{
	int i;

	free(get(100));
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(start(allocate, NULL), NULL));
	CHECK(mmap(NULL, 20 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	pass();
}
