/* Uses malloc and gethugepagesize() in a constructor; main() checks both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long gethugepagesize(void);

static char *early;
static long early_size;

__attribute__((constructor)) static void begin(void)
{
	early = malloc(100000);
	memset(early, 'e', 100000);
	early_size = gethugepagesize();
}

static int agrees(void)
{
	int i, right = gethugepagesize() == early_size;

	for (i = 0; i < 100000; i++)
		right &= early[i] == 'e';
	early = realloc(early, 3000000);
	right &= early != NULL && early[99999] == 'e';
	free(early);
	return right;
}

#ifdef OWN_ENVIRON
/* Replaces libc's, as in some programs. */
char **environ;
#endif

int main(void)
{
	printf("%s %ld\n", agrees() ? "ok" : "wrong", early_size);
	return 0;
}
