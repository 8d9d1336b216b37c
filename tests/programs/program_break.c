/* Moves the program break back and forth, beside malloc, and checks the contents. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP 300000
#define STEPS 100

static char *begin;

static size_t wrong(const char *from, size_t len, int is_zero)
{
	size_t i, count = 0;

	for (i = 0; i < len; i++)
		count += from[i] != (is_zero ? 0 : (char)((size_t)(from + i - begin) % 251));
	return count;
}

static void fill(char *from, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		from[i] = (char)((size_t)(from + i - begin) % 251);
}

int main(void)
{
	char *small = malloc(100), *last, *at;
	size_t bad = 0, fresh = 0, gaps = 0, i;

	strcpy(small, "small");
	begin = sbrk(0);
	last = begin;
	for (i = 0; i < STEPS; i++) {
		errno = 7;
		at = sbrk(STEP);
		gaps += at != last || errno != 7 || sbrk(0) != (void *)(at + STEP);
		fresh += wrong(at, STEP, 1);
		fill(at, STEP);
		last = at + STEP;
	}
	bad = wrong(begin, last - begin, 0);
	printf("gaps %zu, not zero %zu, wrong %zu\n", gaps, fresh, bad);
	at = sbrk(-20 * STEP);
	printf("back: %d\n", at == last && sbrk(0) == (void *)(last - 20 * STEP));
	at = sbrk(40 * STEP);
	printf("again: %d, not zero %zu, wrong %zu\n", at == last - 20 * STEP,
	       /* The rest of the break's page keeps its contents. */
	       wrong(at + 4096, 40 * STEP - 4096, 1), wrong(begin, at - begin, 0));
	fill(at, 40 * STEP);
	sbrk(1);
	printf("whole: %zu\n", wrong(begin, at + 40 * STEP - begin, 0));
	errno = 0;
	at = sbrk((intptr_t)1 << 46);
	printf("too much: %d %d\n", at == (void *)-1, errno == ENOMEM);
	last = malloc(50000);
	memset(last, 1, 50000);
	printf("%s, malloc works: %d\n", small, last[49999]);
	return 0;
}
