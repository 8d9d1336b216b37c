/* Takes pages of the default size in every way: private, shared, in files with and without a name,
   in segments. Some are touched, some only reserved. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t size;

static void must(int right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static char *map(int pages, int flags, int fd, int touched)
{
	char *at = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, flags, fd, 0);
	int i;

	must(at != MAP_FAILED, "mmap");
	for (i = 0; i < touched; i++)
		at[i * size] = 1;
	return at;
}

static int file(const char *path, int pages)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	must(fd >= 0 && !ftruncate(fd, (off_t)(pages * size)), path);
	return fd;
}

static int segment(int pages, int touched, int stays)
{
	int id = shmget(IPC_PRIVATE, pages * size, 0600 | SHM_HUGETLB | IPC_CREAT), i;
	char *at = shmat(id, NULL, 0);

	must(id >= 0 && at != (void *)-1, "shmget");
	for (i = 0; i < touched; i++)
		at[i * size] = 1;
	must(stays || !shmdt(at), "shmdt");
	return id;
}

/* holders SIZE DIR (page size, mount point): prints segments and child, ends with its input. */
int main(int argc, char **argv)
{
	const int own = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
	char *first, *unreserved, byte;
	int memory, kept, deleted, used, orphan, ready[2];
	pid_t child;

	must(argc == 3 && !chdir(argv[2]), "chdir");
	size = strtoul(argv[1], NULL, 10);
	first = map(5, own, -1, 3);
	unreserved = map(6, own | MAP_NORESERVE, -1, 1);
	map(4, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 1);
	/* Unmapped but open: its pages stay allocated or reserved. */
	memory = memfd_create("open", MFD_HUGETLB);
	must(memory >= 0 && !ftruncate(memory, (off_t)(3 * size)), "memfd_create");
	munmap(map(3, MAP_SHARED, memory, 2), 3 * size);
	kept = file("kept", 4);
	map(4, MAP_SHARED, kept, 2);
	map(3, MAP_PRIVATE, kept, 2);
	close(kept);
	deleted = file("deleted", 2);
	map(2, MAP_SHARED, deleted, 2);
	close(deleted);
	unlink("deleted");
	close(file("or phan", 2));
	memory = file("or phan", 2);
	munmap(map(2, MAP_SHARED, memory, 1), 2 * size);
	close(memory);
	used = segment(2, 1, 1);
	orphan = segment(3, 2, 0);
	must(!pipe(ready), "pipe");
	child = fork();
	if (!child) {
		/* Copies on write. */
		first[0] = 2;
		first[size] = 2;
		unreserved[0] = 2;
		must(write(ready[1], "", 1) == 1, "write");
		for (;;)
			pause();
	}
	must(read(ready[0], &byte, 1) == 1, "read");
	printf("%d %d %d\n", used, orphan, child);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	kill(child, 9);
	/* Returns once its pages are free. */
	waitpid(child, NULL, 0);
	shmctl(used, IPC_RMID, NULL);
	shmctl(orphan, IPC_RMID, NULL);
	return 0;
}
