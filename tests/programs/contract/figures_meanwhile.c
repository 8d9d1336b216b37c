/* Large blocks that come and go in some threads, while others ask for the figures of the
   heap and for the size of a block of their own. */
#include "contract.h"
#include <malloc.h>

static volatile int over;

static void *come_and_go(void *unused)
{
	(void)unused;
	while (!over) {
		unsigned char *block = get(9 * MIB);

		block = realloc(block, 20 * MIB);
		CHECK(block);
		free(block);
		free(get_aligned(2 * MIB, 2 * MIB));
	}
	return NULL;
}

static void *ask_for_the_size(void *unused)
{
	unsigned char *block = realloc(get(8 * MIB), 9 * MIB);

	(void)unused;
	CHECK(block);
	while (!over)
		CHECK(malloc_usable_size(block) >= 9 * MIB);
	free(block);
	return NULL;
}

static void *ask_for_figures(void *unused)
{
	(void)unused;
#ifdef __GLIBC__
	while (!over)
		(void)mallinfo2();
#endif
	return NULL;
}

int main(void)
{
	static void *(*const work[6])(void *) = { come_and_go, come_and_go, come_and_go, come_and_go,
		ask_for_the_size, ask_for_figures };
	pthread_t thread[6];
	size_t k;

	for (k = 0; k < 6; k++)
		CHECK(!pthread_create(&thread[k], NULL, work[k], NULL));
	usleep((useconds_t)(span(2) * 1e6));
	over = 1;
	for (k = 0; k < 6; k++)
		CHECK(!pthread_join(thread[k], NULL));
	right();
}
