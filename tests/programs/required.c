/* Takes blocks up to a size and prints whether it got all.

   required MiB [fork|exec|later]
   fork, exec: a child takes blocks first, with exec after execl; later: forks afterwards. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void take(const char *who, size_t len)
{
	size_t block = 100000, n = len / block, i;

	for (i = 0; i < n; i++) {
		char *at;

		errno = 0;
		at = malloc(block);
		if (!at)
			break;
		memset(at, 1, block);
	}
	if (i == n)
		printf("%s: all\n", who);
	else
		printf("%s: NULL, %s\n", who, errno == ENOMEM ? "ENOMEM" : "no ENOMEM");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	size_t len = strtoul(argv[1], NULL, 10) << 20;
	const char *how = argc > 2 ? argv[2] : "";
	int status;

	if (!strcmp(how, "later")) {
		take("parent", len);
		if (fork() == 0)
			_exit(0);
		return wait(&status) < 0;
	}
	if (*how && fork() == 0) {
		if (!strcmp(how, "exec"))
			execl("/proc/self/exe", "other", argv[1], (char *)NULL);
		take("child", len);
		_exit(0);
	}
	if (*how)
		wait(&status);
	take("parent", len);
	return 0;
}
