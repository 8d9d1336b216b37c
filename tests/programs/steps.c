/* A heap in steps, each an argument; every byte of it is checked at the end.

   +N   N blocks of 1 MiB more, filled
   -    free all blocks, and trim
   =X   print what smaps says, after X
   ?    wait for a line on standard input
   f    fork a child that stays
   F    fork a child that writes to all blocks, prints what smaps says after
        "child", and ends
   w    end the child that stays, and wait for it
   t    write to each base page, what is there already
   bN   allocate and free small blocks for N ms
   xN   execute this program again in a child, to fill N blocks and print what
        smaps says after "executed" */
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "judge.h"

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

static void touch(void)
{
	size_t i, k;

	for (i = 0; i < blocks; i++)
		for (k = 0; k < BLOCK / 8; k += 512)
			((volatile uint64_t *)block[i])[k] = i * 1000003 + k;
}

static void be_busy(long milliseconds)
{
	struct timespec now, start;
	void *volatile one; /* else the compiler leaves both calls out */
	int i;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (i = 0; i < 1000; i++) {
			one = malloc(100000);
			free(one);
		}
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < milliseconds);
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
		malloc_trim(0);
		break;
	case '=':
		print_judged(word + 1);
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
			print_judged("child");
			check();
			_exit(0);
		}
		wait_for(pid);
		break;
	case 'w':
		kill(child, SIGKILL);
		wait_for(child);
		break;
	case 't':
		touch();
		break;
	case 'b':
		be_busy(atol(word + 1));
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
