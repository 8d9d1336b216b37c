/* Ends the program with a message if a condition is false. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(what) ((what) ? (void)0 : fail(#what, __LINE__))

static void fail(const char *what, int line)
{
	fprintf(stderr, "line %d: %s (errno %d)\n", line, what, errno);
	_exit(4);
}
