/* A timer's handler calls mprotect, madvise and mmap during mmap, munmap, shmat and shmdt. */
#include "contract.h"
#include <sys/shm.h>
#include <sys/time.h>

static char *page;
static volatile long signals;

static void on_alarm(int signal)
{
	int before = errno;

	(void)signal;
	signals++;
	CHECK(!mprotect(page, 4096, signals & 1 ? PROT_READ : PROT_READ | PROT_WRITE));
	CHECK(!madvise(page, 4096, MADV_RANDOM));
	if (signals % 8 == 0) {
		char *at = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		CHECK(at != MAP_FAILED);
		at[0] = 1;
		CHECK(!munmap(at, 4 * MIB));
	}
	errno = before;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	double end = seconds() + 0.5;
	char *kept = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int id = shmget(IPC_PRIVATE, 4 * MIB, IPC_CREAT | 0600);

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED && kept != MAP_FAILED && id >= 0);
	kept[0] = 1;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	/* A busy machine may delay signals. */
	while (seconds() < end || signals <= 50) {
		char *at = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *segment;

		CHECK(at != MAP_FAILED);
		at[5] = 1;
		CHECK(!munmap(at, 4 * MIB));
		segment = shmat(id, NULL, 0);
		CHECK(segment != (void *)-1);
		segment[5] = 1;
		CHECK(!shmdt(segment));
	}
	setitimer(ITIMER_REAL, &never, NULL);
	shmctl(id, IPC_RMID, NULL);
	CHECK(kept[0] == 1);
	pass();
}
