/* Reads the heap's pages from /proc/self/smaps: private memory without a file and private
   hugetlb pages, except the main stack. Reading allocates nothing. */
#include "smaps.h"

struct heap_pages {
	unsigned long resident, thp, hugetlb; /* kB */
};

static __attribute__((unused)) struct heap_pages read_heap_pages(void)
{
	struct heap_pages sum = {0, 0, 0};
	char line[512], name[256];
	int counts = 0;
	int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);

	if (file < 0)
		abort();
	next_line(file, NULL, 0);
	while (next_line(file, line, sizeof line)) {
		unsigned long start, end, inode, kb;
		char perms[8];

		name[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255s", &start, &end, perms, &inode, name) >= 4) {
			int anonymous = inode == 0 && (name[0] == 0 || !strcmp(name, "[heap]") || !strncmp(name, "[anon:", 6));
			int pool = !strncmp(name, "/anon_hugepage", 14);

			counts = perms[3] == 'p' && (anonymous || pool);
			continue;
		}
		if (!counts)
			continue;
		if (sscanf(line, "Rss: %lu kB", &kb) == 1)
			sum.resident += kb;
		else if (sscanf(line, "AnonHugePages: %lu kB", &kb) == 1)
			sum.thp += kb;
		else if (sscanf(line, "Private_Hugetlb: %lu kB", &kb) == 1 || sscanf(line, "Shared_Hugetlb: %lu kB", &kb) == 1)
			sum.hugetlb += kb, sum.resident += kb;
	}
	close(file);
	return sum;
}

static __attribute__((unused)) void print_heap_pages(const char *what)
{
	struct heap_pages p = read_heap_pages();

	printf("%s resident_kb=%lu thp_kb=%lu hugetlb_kb=%lu\n", what, p.resident, p.thp, p.hugetlb);
	fflush(stdout);
}
