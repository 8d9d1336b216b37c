/* Takes 96 MB in steps smaller than a huge page, each used before the next is taken: of a
   reservation, as virtual machines do, or by malloc in four threads. Each byte is checked,
   then what smaps says is printed.

   reserved  steps of 192 kB, mapped in what was reserved without access
   threads   blocks of 100 to 799 bytes, by malloc */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "judge.h"

#define ALL ((size_t)96 << 20)
#define STEP ((size_t)192 << 10)
#define THREADS 4
#define EACH 53000

static void reserved(void)
{
	char *all = mmap(NULL, ALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t at, i;

	if (all == MAP_FAILED)
		exit(3);
	for (at = 0; at + STEP <= ALL; at += STEP) {
		char *step = mmap(all + at, STEP, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		if (step != all + at)
			exit(3);
		memset(step, (int)(at / STEP % 251), STEP);
	}
	for (at = 0; at + STEP <= ALL; at += STEP)
		for (i = 0; i < STEP; i++)
			if ((unsigned char)all[at + i] != at / STEP % 251)
				exit(4);
}

static unsigned char *block[THREADS][EACH];

static size_t size_of(size_t i)
{
	return 100 + i * 7 % 700;
}

static void *filled(void *number)
{
	size_t t = (size_t)number, i;

	for (i = 0; i < EACH; i++) {
		block[t][i] = malloc(size_of(i));
		if (!block[t][i])
			exit(3);
		memset(block[t][i], (int)(i + t), size_of(i));
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	size_t t, i, k;

	for (t = 0; t < THREADS; t++)
		if (pthread_create(&thread[t], NULL, filled, (void *)t))
			exit(3);
	for (t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	for (t = 0; t < THREADS; t++)
		for (i = 0; i < EACH; i++)
			for (k = 0; k < size_of(i); k++)
				if (block[t][i][k] != (unsigned char)(i + t))
					exit(4);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	switch (argv[1][0]) {
	case 'r':
		reserved();
		break;
	case 't':
		threads();
		break;
	default:
		return 2;
	}
	print_judged("full");
	return 0;
}
