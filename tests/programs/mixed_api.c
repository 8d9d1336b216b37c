/* Blocks from malloc that are freed by an allocator's own function, and the reverse. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(jemalloc)
void *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags);
#define NEW(n) rallocx(malloc(1), n, 0)
#define FREE(p) dallocx(p, 0)
#elif defined(mimalloc)
void *mi_malloc(size_t size);
void mi_free(void *block);
#define NEW mi_malloc
#define FREE mi_free
#else
void *tc_malloc(size_t size);
void tc_free(void *block);
#define NEW tc_malloc
#define FREE tc_free
#endif

int main(void)
{
	size_t n;

	for (n = 1; n < 3000000; n = n * 3 / 2 + 1) {
		char *p = malloc(n), *q = NEW(n);

		memset(p, 'p', n);
		memset(q, 'q', n);
		q = realloc(q, 2 * n);
		if (p[n - 1] != 'p' || q[n - 1] != 'q')
			return 4;
		FREE(p);
		free(q);
	}
	puts("ok");
	return 0;
}
