/* A thread that has all signals blocked writes to a segment, of which another one closes a
   part that nobody writes to. Arguments: none, or a command, which is run under a filter that
   lets all system calls through. */
#include "contract.h"
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/shm.h>

#define SIZE (32 * MIB)

static char *memory;
static volatile int ends;

static void *write_always(void *argument)
{
	size_t i;

	for (i = 0; !ends; i++)
		memory[MIB + i * 4096 % (SIZE - MIB)] = (char)i;
	return argument;
}

static void run_filtered(char **command)
{
	/* As in linux/filter.h and linux/seccomp.h, which not every libc's compiler finds. */
	struct {
		uint16_t code;
		uint8_t jt, jf;
		uint32_t k;
	} all_pass = {6, 0, 0, 0x7fff0000};
	struct {
		unsigned short len;
		void *filter;
	} filter = {1, &all_pass};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, 2, &filter));
	execv(command[0], command);
	fail("%s cannot be run (errno %d)", command[0], errno);
}

int main(int argc, char **argv)
{
	int round;

	if (argc > 1)
		run_filtered(argv + 1);
	for (round = 0; round < 6; round++) {
		int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);
		sigset_t all, old;
		pthread_t thread;

		CHECK(id >= 0);
		memory = shmat(id, NULL, 0);
		CHECK(memory != (void *)-1 && !shmctl(id, IPC_RMID, NULL));
		memset(memory, 7, SIZE);
		ends = 0;
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &old);
		thread = start(write_always, NULL);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		usleep(20000);
		CHECK(!mprotect(memory + 4096, 4096, PROT_READ));
		CHECK(memory[0] == 7 && memory[4096] == 7 && memory[8192] == 7);
		ends = 1;
		CHECK(!pthread_join(thread, NULL) && !shmdt(memory));
	}
	right();
}
