/* Threads that allocate, and a fork: what a tool that looks for races is to find
   nothing in. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *fill(void *unused)
{
	for (int i = 0; i < 100; i++) {
		size_t len = 16 + i * 30;
		char *block = malloc(len);
		memset(block, 1, len);
		free(block);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fill, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	pid_t child = fork();
	if (child == 0)
		_exit(5);
	int status;
	if (waitpid(child, &status, 0) != child || status != 5 << 8)
		return 1;
	puts("threads and a fork");
	return 0;
}
