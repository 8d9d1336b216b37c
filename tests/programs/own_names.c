/* Blocks from malloc that are freed by an allocator's own function, and the reverse. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(jemalloc)
void *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags);
#define MAKE(n) rallocx(malloc(1), n, 0)
#define TAKE(p) dallocx(p, 0)
#elif defined(mimalloc)
void *mi_malloc(size_t size);
void mi_free(void *block);
#define MAKE mi_malloc
#define TAKE mi_free
#else
void *tc_malloc(size_t size);
void tc_free(void *block);
#define MAKE tc_malloc
#define TAKE tc_free
#endif

int main(void)
{
	size_t n;

	for (n = 1; n < 3000000; n = n * 3 / 2 + 1) {
		char *p = malloc(n), *q = MAKE(n);

		memset(p, 'p', n);
		memset(q, 'q', n);
		q = realloc(q, 2 * n);
		if (p[n - 1] != 'p' || q[n - 1] != 'q')
			return 4;
		TAKE(p);
		free(q);
	}
	puts("ok");
	return 0;
}
