/* Maps a file in memory, prints huge_kb=N, and checks calls on file and mapping.

   shm_file memfd|PATH MiB */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>
#include "smaps.h"

#define MUST(what)                                             \
	do {                                                   \
		if (!(what)) {                                 \
			fprintf(stderr, "%d: ", __LINE__);     \
			perror(#what);                         \
			exit(2);                               \
		}                                              \
	} while (0)

int main(int argc, char **argv)
{
	size_t length = argc == 3 ? strtoul(argv[2], NULL, 0) << 20 : 0, i;
	char word[8];
	char *at;
	int file, status;
	pid_t child;

	if (!length)
		return 1;
	if (!strcmp(argv[1], "memfd"))
		file = memfd_create("shm_file", MFD_CLOEXEC);
	else
		file = open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600);
	MUST(file >= 0 && !ftruncate(file, (off_t)length));
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	MUST(at != MAP_FAILED);
	for (i = 0; i < length; i += 4096)
		at[i] = (char)(i >> 12);
	printf("huge_kb=%lu\n", read_range(at, length).thp);
	fflush(stdout);
	/* File and mapping have the same contents. */
	MUST(pwrite(file, "through", 8, 8192) == 8 && !strcmp(at + 8192, "through"));
	strcpy(at + 12288, "behind");
	MUST(pread(file, word, 7, 12288) == 7 && !memcmp(word, "behind", 7));
	/* Base pages can be protected, dropped and unmapped. */
	MUST(!mprotect(at + 4096, 4096, PROT_READ) && at[4096] == 1);
	MUST(!madvise(at + 20480, 4096, MADV_REMOVE) && at[20480] == 0 && at[24576] == 6);
	MUST(!munmap(at + 16384, 4096) && at[24576] == 6);
	child = fork();
	if (!child) {
		at[28672] = 77;
		_exit(at[24576] == 6 ? 0 : 1);
	}
	MUST(waitpid(child, &status, 0) == child && !status && at[28672] == 77);
	MUST(!ftruncate(file, 32768));
	puts("ok");
	return 0;
}
