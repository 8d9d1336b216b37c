/* With -DLIBRARY an allocator over glibc's internal names, with an entry point of rpmalloc; without,
   a program that uses it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void *malloc(size_t size);
void free(void *block);
void *realloc(void *block, size_t size);
void *rpmalloc(size_t size);

#ifdef LIBRARY
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
	return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
	return __libc_memalign(alignment, size);
}

void free(void *block)
{
	__libc_free(block);
}

void *rpmalloc(size_t size)
{
	return __libc_malloc(size);
}
#else
int main(void)
{
	char *one = malloc(100), *other = rpmalloc(100000);

	if (!one || !other)
		return 1;
	memset(one, 1, 100);
	one = realloc(one, 200000);
	if (!one || one[99] != 1)
		return 2;
	free(one);
	free(other);
	puts("ok");
	return 0;
}
#endif
