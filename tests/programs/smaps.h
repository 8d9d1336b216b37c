/* Reads the kernel's figures of address ranges from /proc/self/smaps. Allocates nothing. */
#ifndef SMAPS_H
#define SMAPS_H
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the next line of a file without its newline; resets the buffer if `line` is null. */
static __attribute__((unused)) int next_line(int file, char *line, size_t size)
{
	static char text[1 << 14];
	static ssize_t at, end;
	size_t n = 0;

	if (!line)
		return (at = end = 0);
	for (;;) {
		if (at == end) {
			end = read(file, text, sizeof text);
			at = 0;
			if (end <= 0)
				return (int)(at = end = 0);
		}
		if (text[at] == '\n')
			break;
		if (n < size - 1)
			line[n++] = text[at];
		at++;
	}
	at++;
	line[n] = 0;
	return 1;
}

/* The sums of all mappings that overlap a range. */
struct range {
	unsigned long rss, thp, hugetlb; /* kB */
	int mappings, advised; /* advised: those with MADV_HUGEPAGE */
	char flags[512]; /* VmFlags of the last mapping, with a blank before each */
};

static __attribute__((unused)) struct range read_range(const void *from, size_t len)
{
	unsigned long low = (unsigned long)from, start = 0, end = 0, first, last, kb;
	int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	struct range sum = {0, 0, 0, 0, 0, ""};
	char line[512], name[64];

	if (file < 0)
		abort();
	next_line(file, NULL, 0);
	while (next_line(file, line, sizeof line)) {
		int begins = sscanf(line, "%lx-%lx ", &first, &last) == 2;

		if (begins)
			start = first, end = last;
		if (start >= low + len || end <= low)
			continue;
		sum.mappings += begins;
		if (!strncmp(line, "VmFlags:", 8)) {
			strcpy(sum.flags, line + 8);
			sum.advised += strstr(line, " hg") != NULL;
		}
		if (begins || sscanf(line, "%63[A-Za-z_]: %lu kB", name, &kb) != 2)
			continue;
		if (!strcmp(name, "Rss"))
			sum.rss += kb;
		else if (!strcmp(name, "AnonHugePages") || !strcmp(name, "ShmemPmdMapped") || !strcmp(name, "FilePmdMapped"))
			sum.thp += kb;
		else if (!strcmp(name, "Private_Hugetlb") || !strcmp(name, "Shared_Hugetlb"))
			sum.hugetlb += kb;
	}
	close(file);
	return sum;
}

#endif
