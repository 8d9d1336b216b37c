/* What a program ignores, another that it starts ignores as well, by whichever
   way it is started; what it handles or leaves alone, the other has not
   ignored. */
#include "contract.h"
#include <spawn.h>

extern char **environ;
static const int SIGNALS[] = {SIGBUS, SIGSEGV};

/* The mask of ignored signals, as the kernel has it. */
static unsigned long long ignored(void)
{
	unsigned long long mask = 0;
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];

	CHECK(status);
	while (fgets(line, sizeof line, status))
		if (sscanf(line, "SigIgn: %llx", &mask) == 1)
			break;
	fclose(status);
	return mask;
}

static void look(const char *wanted)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		int is = ignored() >> (SIGNALS[i] - 1) & 1, want = wanted[i] == 'i';
		struct sigaction action;

		CHECK(!sigaction(SIGNALS[i], NULL, &action));
		if (action.sa_handler != (want ? SIG_IGN : SIG_DFL))
			fail("signal %d: sigaction says otherwise than %s", SIGNALS[i], want ? "ignored" : "default");
		/* Under a library that stands before it, only sigaction can tell. */
		if (!getenv("LD_PRELOAD") && is != want)
			fail("signal %d is %signored", SIGNALS[i], is ? "" : "not ");
	}
	_exit(0);
}

static void handler(int signal)
{
	(void)signal;
}

static void set(int signal, char how)
{
	struct sigaction action = {.sa_handler = how == 'i' ? SIG_IGN : how == 'h' ? handler : SIG_DFL};

	CHECK(!sigaction(signal, &action, NULL));
}

static void start_others(const char *how, char *self)
{
	char *words[] = {self, "look", (char *)how, NULL}, *empty[] = {NULL};
	char **environments[] = {environ, empty};
	pid_t child;
	int i;

	set(SIGBUS, how[0]);
	set(SIGSEGV, how[1]);
	for (i = 0; i < 2; i++) {
		if (!(child = fork())) {
			execve(self, words, environments[i]);
			_exit(3);
		}
		wait_for(child, i ? "fork and execve without libraries" : "fork and execve");
		CHECK(!posix_spawn(&child, self, NULL, NULL, words, environments[i]));
		wait_for(child, i ? "posix_spawn without libraries" : "posix_spawn");
		if (!(child = vfork())) {
			execve(self, words, environments[i]);
			_exit(3);
		}
		wait_for(child, i ? "vfork and execve without libraries" : "vfork and execve");
	}
}

int main(int argc, char **argv)
{
	if (argc > 2)
		look(argv[2]);
	fill_heap(64);
	start_others("dd", argv[0]);
	start_others("ii", argv[0]);
	start_others("hi", argv[0]);
	start_others("ih", argv[0]);
	start_others("hh", argv[0]);
	right();
}
