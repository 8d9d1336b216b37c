/* Fills memory of one kind and prints what smaps says of its mappings: kB of hugetlb pages, kB
   of transparent huge pages; "refused" if it gets none. First a child does the same silently.

   kinds data|heap|shm|anon|text */
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "smaps.h"

#define SIZE (24ul << 20)

static char data[SIZE] = {1};

/* In the text segment. */
extern char code[SIZE];
__asm__(".pushsection .text\n.balign 16\ncode: .fill 24 << 20, 1, 0\n.popsection");

/* A child that executes this program. */
static void child(char **argv)
{
	char *words[] = {argv[0], argv[1], "quietly", NULL};
	posix_spawn_file_actions_t quiet;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	if (!posix_spawn(&pid, "/proc/self/exe", &quiet, NULL, words, environ))
		waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	int reads = !strcmp(kind, "text");
	char *p = reads ? code : data;
	struct range found;
	volatile char seen;
	size_t i;

	if (argc == 2)
		child(argv);
	if (!strcmp(kind, "heap"))
		p = malloc(SIZE);
	if (!strcmp(kind, "shm"))
		p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!strcmp(kind, "anon"))
		p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!p || p == MAP_FAILED) {
		puts("refused");
		return 0;
	}
	for (i = 0; i < SIZE; i += 4096)
		if (reads)
			seen = p[i];
		else
			p[i]++;
	(void)seen;
	found = read_range(p, SIZE);
	printf("%lu %lu\n", found.hugetlb, found.thp);
	return 0;
}
