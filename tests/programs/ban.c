/* Disables transparent huge pages for itself. Prints THP_enabled of /proc/self/status, and the
   result of PR_GET_THP_DISABLE.

   ban CALL   with CALL: function (by prctl()), number (by syscall()), mapped (by prctl(), between
   mapping memory and touching it) */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long result;
	int enabled = -1;
	char *mapped = NULL;

	if (argc != 2 || !status)
		return 1;
	if (!strcmp(argv[1], "mapped")) {
		mapped = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mapped == MAP_FAILED)
			return 3;
	}
	if (!strcmp(argv[1], "number"))
		result = syscall(SYS_prctl, PR_SET_THP_DISABLE, 1L, 0L, 0L, 0L);
	else
		result = prctl(PR_SET_THP_DISABLE, 1L, 0L, 0L, 0L);
	if (mapped)
		memset(mapped, 1, 8 << 20);
	while (fgets(line, sizeof line, status))
		if (sscanf(line, "THP_enabled: %d", &enabled) == 1)
			break;
	printf("THP_enabled: %d, prctl says %d\n", enabled, prctl(PR_GET_THP_DISABLE, 0L, 0L, 0L, 0L));
	return result ? 2 : 0;
}
