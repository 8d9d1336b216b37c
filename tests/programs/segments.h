/* Prints how many kB of text, data and bss fill whole huge pages, and are on them, by smaps. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)

struct part {
	const char *name;
	uintptr_t start, end;                           /* in whole huge pages */
	unsigned long whole, pool, transparent, file;   /* kB */
};

struct parts {
	struct part part[32];
	int count;
};

static void add_part(struct parts *all, const char *name, uintptr_t start, uintptr_t end)
{
	struct part *part = &all->part[all->count];

	start = (start + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	end = end / HUGE_PAGE * HUGE_PAGE;
	if (start >= end || all->count == 32)
		return;
	*part = (struct part){name, start, end, (end - start) / 1024, 0, 0, 0};
	all->count++;
}

static int find_parts(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		if (!(header->p_flags & PF_W)) {
			add_part(arg, "text", start, start + header->p_memsz);
		} else {
			/* A huge page with data and bss counts as data. */
			uintptr_t border = (start + header->p_filesz + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
			uintptr_t end = start + header->p_memsz;

			add_part(arg, "data", start, border < end ? border : end);
			add_part(arg, "bss", border, end);
		}
	}
	return 1; /* the program only */
}

static unsigned long overlap(const struct part *part, uintptr_t start, uintptr_t end)
{
	uintptr_t from = start > part->start ? start : part->start;
	uintptr_t to = end < part->end ? end : part->end;

	return from < to ? (to - from) / 1024 : 0;
}

static unsigned long least(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

static void read_smaps(struct parts *all)
{
	char line[4500];
	uintptr_t start = 0, end = 0;
	FILE *f = fopen("/proc/self/smaps", "r");

	if (!f)
		abort();
	while (fgets(line, sizeof line, f)) {
		unsigned long a, b, kb;
		char field[64];
		int i;

		if (sscanf(line, "%lx-%lx ", &a, &b) == 2) {
			start = a, end = b;
			continue;
		}
		if (sscanf(line, "%63[A-Za-z_]: %lu kB", field, &kb) != 2)
			continue;
		for (i = 0; i < all->count; i++) {
			struct part *part = &all->part[i];
			unsigned long here = least(kb, overlap(part, start, end));

			if (!strcmp(field, "AnonHugePages"))
				part->transparent += here;
			else if (!strcmp(field, "FilePmdMapped"))
				part->file += here;
			else if (!strcmp(field, "Private_Hugetlb") || !strcmp(field, "Shared_Hugetlb"))
				part->pool += here;
		}
	}
	fclose(f);
}

static void print_segments(void)
{
	static const char *const names[] = {"text", "data", "bss"};
	static struct parts all;
	int n, i;

	all.count = 0;
	dl_iterate_phdr(find_parts, &all);
	read_smaps(&all);
	for (n = 0; n < 3; n++) {
		struct part sum = {names[n], 0, 0, 0, 0, 0, 0};

		for (i = 0; i < all.count; i++)
			if (!strcmp(all.part[i].name, names[n])) {
				sum.whole += all.part[i].whole;
				sum.pool += all.part[i].pool;
				sum.transparent += all.part[i].transparent;
				sum.file += all.part[i].file;
			}
		printf("%s whole_kb=%lu pool_kb=%lu thp_kb=%lu file_kb=%lu\n", sum.name, sum.whole, sum.pool,
		       sum.transparent, sum.file);
	}
	fflush(stdout);
}
