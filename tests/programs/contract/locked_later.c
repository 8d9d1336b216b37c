/* What comes is locked (MCL_FUTURE): so much of the process is locked, and counts under a
   limit, as the program takes, and not what the heap reserves. Arguments: MiB that it takes
   before, MiB that it takes then. */
#include "contract.h"
#include "mapping_flags.h"

static size_t locked(void)
{
	unsigned long value = 0;
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");

	CHECK(file);
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "VmLck: %lu", &value) == 1)
			break;
	fclose(file);
	return (size_t)value * 1024;
}

static char *take(int mib)
{
	char *block = NULL;

	for (; mib > 0; mib--)
		memset(block = get(MIB), 1, MIB);
	return block;
}

int main(int argc, char **argv)
{
	int before = number(argc, argv, 1, 0), then = number(argc, argv, 2, 100);
	char *last;

	take(before);
	CHECK(!mlockall(MCL_FUTURE));
	last = take(then);
	/* Blocks are rounded up, and huge pages whole. */
	if (locked() > (size_t)(then + then / 8 + 8) * MIB)
		fail("%zu MiB are locked for %d", locked() / MIB, then);
	if (locked() < (size_t)(then - 8) * MIB)
		fail("no more than %zu MiB of %d are locked", locked() / MIB, then);
	CHECK(has_flag(" lo", last) && has_flag(" lo", last + MIB - 1));
	right();
}
