/* Touches 264 MB of malloc; a child writes to it. Prints huge kB, and how the child ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 264 << 20 };

/* Global, so that the compiler keeps the writes. */
char *volatile memory;

static long huge_kb(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	char line[512];
	long kb, sum = 0;

	while (smaps && fgets(line, sizeof line, smaps))
		if (sscanf(line, "AnonHugePages: %ld", &kb) == 1 ||
		    sscanf(line, "Private_Hugetlb: %ld", &kb) == 1)
			sum += kb;
	return sum;
}

int main(void)
{
	int status = -1;

	memory = malloc(SIZE);
	if (!memory)
		return 1;
	memset(memory, 1, SIZE);
	printf("%ld kB huge, ", huge_kb());
	fflush(stdout);
	if (fork() == 0) {
		memset(memory, 2, SIZE);
		_exit(0);
	}
	wait(&status);
	puts(WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "its child ends well");
	return 0;
}
