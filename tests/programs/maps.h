/* What /proc/self/smaps says of a range: a part for each mapping in it. */
#ifndef MAPS_H
#define MAPS_H
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAGE ((size_t)4096)

/* Read and written by calls that nobody replaces, into room of its own. */
static char text[4 << 20];

static void read_all(const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t got;

	while (have < sizeof text - 1 && (got = read(from, text + have, sizeof text - 1 - have)) > 0)
		have += (size_t)got;
	text[have] = 0;
	close(from);
}

/* What the program asked for: not what the kernel may do, nor what it found out. */
static const char *const ASKED[] = { "lo", "sr", "rr", "dc", "wf", "dd", "nr", "mg", "nh", "sl", "gd" };

static void tell_flags(const char *flags)
{
	const char *end = strchr(flags, '\n'), *found;
	char word[8];
	size_t i;

	printf(" [");
	for (i = 0; i < sizeof ASKED / sizeof *ASKED; i++) {
		snprintf(word, sizeof word, " %s ", ASKED[i]);
		found = strstr(flags, word);
		if (found && end && found < end)
			printf("%s", word);
	}
	printf("]");
}

/* One mapping, as far as it lies between these addresses. */
static void tell_part(const char *line, uintptr_t from, uintptr_t to)
{
	unsigned long start, end, offset, inode;
	char rights[8], device[16], name[200] = "";
	const char *flags = strstr(line, "\nVmFlags:");

	if (sscanf(line, "%lx-%lx %7s %lx %15s %lu%*[ ]%199[^\n]", &start, &end, rights, &offset,
		   device, &inode, name) < 6)
		return;
	if (end <= from || start >= to)
		return;
	if (start < from) {
		offset += offset || inode ? from - start : 0;
		start = from;
	}
	if (end > to)
		end = to;
	printf(" | %zu-%zu %s %lx %s", (size_t)(start - from) / PAGE, (size_t)(end - from) / PAGE, rights,
	       offset / PAGE, *name ? name : "-");
	tell_flags(flags ? flags + 1 : "");
}

static int is_head(const char *line)
{
	size_t len = strspn(line, "0123456789abcdef");

	return len > 0 && line[len] == '-';
}

static void tell_range(const char *at, size_t len)
{
	char *line;

	read_all("/proc/self/smaps");
	for (line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (is_head(line))
			tell_part(line, (uintptr_t)at, (uintptr_t)at + len);
	printf("\n");
	fflush(stdout);
}

#endif
