/* Disables transparent huge pages by prctl, as Redis does, and executes a program.

   no_thp COMMAND... */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2 || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) {
		perror("no_thp");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
