/* Flags of mappings, as smaps has them behind VmFlags. */
#include "contract.h"

/* Whether the mapping of an address has a flag, with the space in front of it. */
static int has_flag(const char *flag, const void *address)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long from, to;
	int inside = 0, found = -1;
	char line[512];

	CHECK(smaps);
	while (found < 0 && fgets(line, sizeof line, smaps)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = from <= (size_t)address && (size_t)address < to;
		else if (inside && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, flag) != NULL;
	}
	fclose(smaps);
	CHECK(found >= 0);
	return found;
}
