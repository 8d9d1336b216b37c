/* Forks while threads write to the heap (with -DSTATIC: to data and bss), directly and by pread(2).
   No byte may be lost and no process killed.

   forks FORKS THREADS [emptied|filter|print]

   Every fourth child starts a daemon. Each fork is followed by vfork and posix_spawn. A SIGALRM
   handler counts throughout.
   emptied  another process takes all free pages of the pool before the first fork
   filter   before the first thread, sets a seccomp filter that allows everything
   print    before the first thread and at the end, prints how much of the heap is huge */
#include "contract.h"
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include "../filter.h"

#define BLOCKS 72 /* of 1 MiB */
#define STEP 512 /* words from one written and checked word to the next */
#define READ_SIZE 65536 /* bytes per pread */
#define THREADS 8

#ifdef STATIC
static uint64_t data[10 * MIB / 8] = {1}, bss[62 * MIB / 8], static_area[THREADS][MIB / 8];
#endif
static uint64_t *block[BLOCKS], *thread_area[THREADS];
static volatile int stop;
static int file;
extern char **environ;

/* Counters of SIGALRM, one in each kind of memory. */
static volatile long in_bss, in_data = 1, *in_heap, *in_mapping;

static void on_alarm(int signal UNUSED)
{
	(*in_mapping)++;
	(*in_heap)++;
	in_bss++;
	in_data++;
}

static void check_signals(const char *who)
{
	long page = *in_mapping;

	if (*in_heap != page || in_bss != page || in_data != page + 1)
		fail("%s: %ld signals: heap %ld, bss %ld, data %ld", who, page, *in_heap, in_bss, in_data - 1);
}

/* Only the main thread takes SIGALRM, so that no two handlers run at once. */
static void block_alarm(int how)
{
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	CHECK(!sigprocmask(how, &alarm, NULL));
}

static void set_timer(long microseconds)
{
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	struct itimerval timer = {{0, microseconds}, {0, microseconds}};

	CHECK(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &timer, NULL));
	block_alarm(SIG_UNBLOCK);
}

static void write_all(uint64_t seed)
{
	for (size_t i = 0; i < BLOCKS; i++)
		for (size_t k = 0; k < MIB / 8; k += STEP)
			block[i][k] = seed + i * 1000003 + k;
}

static void check_all(uint64_t seed, const char *who)
{
	for (size_t i = 0; i < BLOCKS; i++)
		for (size_t k = 0; k < MIB / 8; k += STEP)
			if (block[i][k] != seed + i * 1000003 + k)
				fail("%s: block %zu is damaged", who, i);
}

/* Counts in the thread's area and reads a file into it. */
static void *count_and_read(void *index)
{
	volatile uint64_t *mine = thread_area[(uintptr_t)index];
	char *buffer = (char *)mine + MIB / 2;
	uint64_t n = 0;

	while (!stop) {
		n++;
		mine[0]++;
		mine[MIB / 8 - 1]++;
		buffer[n % READ_SIZE] = 0;
		CHECK(pread(file, buffer, READ_SIZE, 0) == READ_SIZE);
		CHECK(buffer[n % READ_SIZE] == 7);
		/* Eight busy threads would starve the main thread on two CPUs. */
		usleep(100);
	}
	CHECK(mine[0] == n && mine[MIB / 8 - 1] == n);
	return NULL;
}

static void be_child(uint64_t seed, int is_daemon)
{
	check_signals("child");
	if (is_daemon) {
		int ends[2];
		char c = 0;
		pid_t pid;

		setsid();
		CHECK(!pipe(ends));
		pid = fork();
		CHECK(pid >= 0);
		if (pid) {
			close(ends[1]);
			_exit(read(ends[0], &c, 1) != 1);
		}
		check_all(seed, "daemon");
		write_all(seed + 1);
		check_all(seed + 1, "daemon");
		_exit(write(ends[1], &c, 1) != 1);
	}
	check_all(seed, "child");
	write_all(seed + 1);
	check_all(seed + 1, "child");
	_exit(0);
}

static void fork_vfork_spawn(uint64_t seed, int is_daemon)
{
	char *words[] = {"/bin/true", NULL};
	pid_t pid;

	write_all(seed);
	pid = fork();
	if (pid == 0)
		be_child(seed, is_daemon);
	check_all(seed, "parent");
	write_all(seed + 2);
	check_all(seed + 2, "parent");
	wait_for(pid, "fork");
	pid = vfork();
	if (pid == 0)
		_exit(0);
	wait_for(pid, "vfork");
	CHECK(!posix_spawn(&pid, words[0], NULL, NULL, words, environ));
	wait_for(pid, "posix_spawn");
}

/* Reserves all free pages of the pool after a byte of input. */
__attribute__((noreturn)) static void take_pool(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
	char c;

	CHECK(read(0, &c, 1) == 1);
	while (mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
		;
	CHECK(write(1, &c, 1) == 1);
	pause();
	_exit(0);
}

/* Spawns a process that takes the pool: a fork would move our own memory off it. */
static pid_t start_taker(int to[2], int from[2])
{
	char *words[] = {"forks", "take", NULL}, *no_environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;

	CHECK(!pipe(to) && !pipe(from) && !posix_spawn_file_actions_init(&actions));
	CHECK(!posix_spawn_file_actions_adddup2(&actions, to[0], 0));
	CHECK(!posix_spawn_file_actions_adddup2(&actions, from[1], 1));
	CHECK(!posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, no_environment));
	return pid;
}

static void allocate_memory(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
#ifdef STATIC
		block[i] = i < 10 ? data + i * MIB / 8 : bss + (i - 10) * MIB / 8;
#else
		block[i] = get(MIB);
#endif
	for (int i = 0; i < THREADS; i++)
#ifdef STATIC
		thread_area[i] = static_area[i];
#else
		thread_area[i] = calloc(1, MIB);
#endif
	in_heap = calloc(1, 8192);
	in_mapping = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(in_mapping != MAP_FAILED);
	write_all(0);
	/* Without pool pages, the test proves nothing. */
	if (getenv("CONTRACT_ON_POOL"))
		CHECK(read_range(NULL, SIZE_MAX).hugetlb > 0);
}

static void allow_everything(void)
{
	struct filter allow = {0x06, 0, 0, 0x7fff0000};
	struct filters all = {1, &allow};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, 2, &all));
}

int main(int argc, char **argv)
{
	int forks = number(argc, argv, 1, 3), threads = number(argc, argv, 2, 0), to[2], from[2], i;
	const char *mode = argc > 3 ? argv[3] : "";
	int is_emptied = !strcmp(mode, "emptied"), prints = !strcmp(mode, "print");
	pid_t taker;
	char name[] = "/tmp/forksXXXXXX", bytes[READ_SIZE], c = 0;
	pthread_t thread[THREADS];

	if (argc > 1 && !strcmp(argv[1], "take"))
		take_pool();
	taker = is_emptied ? start_taker(to, from) : 0;
	file = mkstemp(name);
	unlink(name);
	memset(bytes, 7, sizeof bytes);
	CHECK(file >= 0 && threads <= THREADS && write(file, bytes, READ_SIZE) == READ_SIZE);
	allocate_memory();
	if (prints)
		print_heap_pages("before");
	if (!strcmp(mode, "filter"))
		allow_everything();
	block_alarm(SIG_BLOCK);
	for (i = 0; i < threads; i++)
		thread[i] = start(count_and_read, (void *)(uintptr_t)i);
	if (is_emptied)
		CHECK(write(to[1], &c, 1) == 1 && read(from[0], &c, 1) == 1);
	set_timer(500);
	for (i = 0; i < forks; i++)
		fork_vfork_spawn((uint64_t)i * 7, i % 4 == 3);
	set_timer(0);
	check_signals("parent");
	stop = 1;
	for (i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	if (prints)
		print_heap_pages("after");
	if (is_emptied)
		kill(taker, SIGKILL), waitpid(taker, NULL, 0);
	pass();
}
