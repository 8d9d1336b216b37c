/* Grows and shrinks a heap in steps, each an argument. Checks every byte at the end.

   +N   allocate and fill N blocks of 1 MiB
   -    free all blocks
   t    trim the heap
   =X   print X and what smaps says
   ?    wait for a line on standard input
   f    fork a child that stays
   F    fork a child that writes to all blocks and prints "child" and what smaps says
   w    kill the child that stays
   xN   execute this program in a child: +N =executed */
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include "heap_pages.h"

#define BLOCK ((size_t)1 << 20)
#define MOST 4096
static uint64_t *block[MOST];
static size_t blocks;
static pid_t child;

static void fill(size_t from)
{
	size_t i, k;

	for (i = from; i < blocks; i++)
		for (k = 0; k < BLOCK / 8; k++)
			block[i][k] = i * 1000003 + k;
}

static void check(void)
{
	size_t i, k;

	for (i = 0; i < blocks; i++)
		for (k = 0; k < BLOCK / 8; k++)
			if (block[i][k] != i * 1000003 + k) {
				fprintf(stderr, "block %zu is damaged\n", i);
				_exit(4);
			}
}

static void more(size_t count)
{
	size_t from = blocks;

	for (; count; count--) {
		if (blocks == MOST || !(block[blocks] = malloc(BLOCK))) {
			perror("steps");
			exit(3);
		}
		blocks++;
	}
	fill(from);
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || (status && status != SIGKILL)) {
		fprintf(stderr, "a child ended with status %#x\n", status);
		exit(7);
	}
}

static pid_t forked(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(3);
	}
	return pid;
}

static void step(const char *self, const char *word)
{
	char line[16];
	pid_t pid;

	switch (word[0]) {
	case '+':
		more((size_t)atol(word + 1));
		break;
	case '-':
		check();
		while (blocks)
			free(block[--blocks]);
		break;
	case 't':
		malloc_trim(0);
		break;
	case '=':
		print_heap_pages(word + 1);
		break;
	case '?':
		if (!fgets(line, sizeof line, stdin))
			exit(5);
		break;
	case 'f':
		child = forked();
		if (child == 0)
			for (;;)
				pause();
		break;
	case 'F':
		pid = forked();
		if (pid == 0) {
			check();
			fill(0);
			print_heap_pages("child");
			check();
			_exit(0);
		}
		wait_for(pid);
		break;
	case 'w':
		kill(child, SIGKILL);
		wait_for(child);
		break;
	case 'x':
		pid = forked();
		if (pid == 0) {
			char more[32];

			snprintf(more, sizeof more, "+%s", word + 1);
			execl(self, self, more, "=executed", (char *)NULL);
			_exit(6);
		}
		wait_for(pid);
		break;
	default:
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		step(argv[0], argv[i]);
	check();
	return 0;
}
