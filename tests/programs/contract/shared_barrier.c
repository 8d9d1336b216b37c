/* The write barrier of a collector whose threads write while it is up: shared
   memory is closed to writing as a whole, and a handler notes each page that is
   written to and opens it. A page that changes is a page that was noted.
   Arguments: threads. */
#include "contract.h"
#include <sys/shm.h>

#define SIZE (24 * MIB)
#define PAGE 4096
#define PAGES (SIZE / PAGE)

static char *memory;
static volatile char noted[PAGES];

static void on_fault(int signal, siginfo_t *info, void *context)
{
	size_t page = (size_t)((char *)info->si_addr - memory) / PAGE;

	(void)signal, (void)context;
	CHECK((char *)info->si_addr >= memory && page < PAGES);
	noted[page] = 1;
	CHECK(!mprotect(memory + page * PAGE, PAGE, PROT_READ | PROT_WRITE));
}

static void *write_some(void *argument)
{
	unsigned random = (unsigned)(size_t)argument * 77 + 5;
	int i;

	for (i = 0; i < 300; i++) {
		random = random * 1103515245u + 12345;
		memory[(random >> 4) % PAGES * PAGE] = 1;
	}
	return NULL;
}

static void collect(const char *what, int threads)
{
	pthread_t thread[16];
	size_t i, changed = 0, unknown = 0;

	memset(memory, 0, SIZE);
	memset((char *)noted, 0, sizeof noted);
	CHECK(!mprotect(memory, SIZE, PROT_READ));
	for (i = 0; i < (size_t)threads; i++)
		thread[i] = start(write_some, (void *)i);
	for (i = 0; i < (size_t)threads; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (i = 0; i < PAGES; i++) {
		changed += memory[i * PAGE] != 0;
		unknown += memory[i * PAGE] && !noted[i];
	}
	if (unknown)
		fail("%s: of %zu pages that were written to, %zu made no fault", what, changed, unknown);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int round, threads = number(argc, argv, 1, 8);

	CHECK(threads <= 16);
	sigaction(SIGSEGV, &action, NULL);
	for (round = 0; round < 3; round++) {
		int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);

		memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(memory != MAP_FAILED);
		collect("a mapping", threads);
		CHECK(!munmap(memory, SIZE));
		memory = shmat(id, NULL, 0);
		CHECK(memory != (void *)-1 && !shmctl(id, IPC_RMID, NULL));
		collect("a segment", threads);
		CHECK(!shmdt(memory));
	}
	right();
}
