/* A program as libhugetlbfs' own linker scripts made it: see tests/libs/segments/marked.rs.
   Prints its variables, and what of them is on huge pages. */
#include <stdio.h>
#include <string.h>

static char data[100000] = "data";
static char bss[100000];

/* Kilobytes on huge pages in the mapping that holds an address. */
static long huge_kb(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long start, end, at = (unsigned long)p;
	long kb, all = 0;
	char line[512];
	int here = 0;

	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start <= at && at < end;
		if (here && (sscanf(line, "AnonHugePages: %ld", &kb) == 1 ||
			     sscanf(line, "Private_Hugetlb: %ld", &kb) == 1))
			all += kb;
	}
	fclose(f);
	return all;
}

int main(void)
{
	memset(bss, 'b', sizeof bss);
	printf("%s %c\n", data, bss[99999]);
	printf("data_kb=%ld bss_kb=%ld text_kb=%ld\n", huge_kb(data), huge_kb(bss),
	       huge_kb((void *)main));
	return 0;
}
