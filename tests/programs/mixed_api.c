/* Frees blocks of malloc with an allocator's own function, and its blocks with free. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(jemalloc)
void *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags);
#define OWN_ALLOC(n) rallocx(malloc(1), n, 0)
#define OWN_FREE(p) dallocx(p, 0)
#elif defined(mimalloc)
void *mi_malloc(size_t size);
void mi_free(void *block);
#define OWN_ALLOC mi_malloc
#define OWN_FREE mi_free
#else
void *tc_malloc(size_t size);
void tc_free(void *block);
#define OWN_ALLOC tc_malloc
#define OWN_FREE tc_free
#endif

int main(void)
{
	size_t n;

	for (n = 1; n < 3000000; n = n * 3 / 2 + 1) {
		char *p = malloc(n), *q = OWN_ALLOC(n);

		memset(p, 'p', n);
		memset(q, 'q', n);
		q = realloc(q, 2 * n);
		if (p[n - 1] != 'p' || q[n - 1] != 'q')
			return 4;
		OWN_FREE(p);
		free(q);
	}
	puts("ok");
	return 0;
}
