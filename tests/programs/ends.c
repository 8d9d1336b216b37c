/* Fills MiB of memory, prints "ready", reads a line and ends in one of several ways.

   ends HOW MIB */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exits by an inline system call instruction. */
static void exit_inline(int status)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(status) : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = SYS_exit_group;
	register long x0 __asm__("x0") = status;
	__asm__ volatile("svc 0" : : "r"(x8), "r"(x0) : "memory");
#endif
}

int main(int count, char **words)
{
	if (count < 3)
		return 77;
	const char *how = words[1];
	size_t size = (size_t)atoi(words[2]) << 20;
	char *block = malloc(size);
	if (!block)
		return 77;
	memset(block, 1, size);
	puts("ready");
	fflush(stdout);
	if (getchar() == EOF)
		return 78;
	/* The library must not add a child process. */
	if (waitpid(-1, NULL, WNOHANG) != -1)
		return 79;
	if (!strcmp(how, "return"))
		return 3;
	if (!strcmp(how, "exit"))
		exit(3);
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "syscall"))
		syscall(SYS_exit_group, 3);
	if (!strcmp(how, "inline-syscall"))
		exit_inline(3);
	if (!strcmp(how, "quick"))
		quick_exit(3);
	if (!strcmp(how, "TERM"))
		raise(SIGTERM);
	if (!strcmp(how, "KILL"))
		raise(SIGKILL);
	if (!strcmp(how, "daemon")) {
		if (daemon(0, 0) == 0)
			sleep(60);
		return 81;
	}
	int *volatile nowhere = NULL;
	if (!strcmp(how, "SEGV"))
		*(volatile int *)nowhere = 1;
	if (!strcmp(how, "ABRT"))
		abort();
	/* grow: more than the control group allows. */
	for (int i = 0; i < 256; i++) {
		block = malloc(1 << 20);
		if (block)
			memset(block, 1, 1 << 20);
	}
	return 80;
}
