/* 6 MB of code, 6 MB of read-only data, 8 MB of data, 16 MB of bss: touches them
 * (of bss every second page), prints a sum and waits until its input ends. */
#include <stdio.h>
#include <string.h>

static const char table[6 << 20] = {1, 2, 3};
static char data[8 << 20] = {1};
static char bss[16 << 20];

__attribute__((noinline)) static void code(void)
{
	__asm__ volatile(".skip 6 << 20, 0x90");
}

int main(int argc, char **argv)
{
	long sum = argc > 1 ? strlen(argv[1]) : 0;

	for (unsigned i = 0; i < sizeof table; i += 4096)
		sum += table[i];
	code();
	for (unsigned i = 0; i < sizeof data; i += 4096)
		sum += data[i]++ + bss[i * 2]++;
	printf("sum %ld\n", sum);
	fflush(stdout);
	return getchar() == 'x';
}
