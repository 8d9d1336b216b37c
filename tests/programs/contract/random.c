/* The contract, drawn at random. Episodes of a few seconds, each a process of
   its own: threads that do what programs do, in an order that the seed tells,
   and know what each byte and each result must be. The first line of a failure
   has the seed that begins with that episode.
     random --seed N --seconds S [--plugin FILE]
     random --episode N [--plugin FILE]      (one only; what the others start)
   `--without NAME` leaves operations out whose names begin so, which tells what
   a failure needs; `--without pins` all that has pages written to by a device.
   Who runs it changes the pool meanwhile. */
#include "random/threads.h"

static const struct {
	const char *name;
	void (*run)(void);
	int weight;
	int alone; /* whether it makes threads */
} OPERATIONS[] = {
    {"make a block", make_block, 60, 0},
    {"free a block", free_block, 25, 0},
    {"change a block's size", change_size, 20, 0},
    {"check a block", check_one, 30, 0},
    {"exchange blocks", exchange, 15, 0},
    {"mprotect", protect, 5, 0},
    {"madvise", advise, 5, 0},
    {"mlock", lock_pages, 2, 0},
    {"read a file", read_file, 6, 0},
    {"read with O_DIRECT", read_direct, 4, 0},
    {"read by io_uring", read_by_ring, 4, 0},
    {"ask the kernel", ask_kernel, 10, 0},
    {"fork", fork_any, 3, 0},
    {"fork with a closed page", fork_closed, 1, 0},
    {"fork without descriptors", fork_without_descriptors, 1, 0},
    {"limit memory", limit_memory, 2, 0},
    {"make shared memory", make_share, 3, 0},
    {"drop shared memory", drop_share, 2, 0},
    {"mprotect of shared memory", protect_share, 2, 0},
    {"madvise of shared memory", advise_share, 2, 0},
    {"mremap of shared memory", map_share_again, 2, 0},
    {"compare counts of signals", look_at_counts, 4, 0},
    {"a new alternate stack", new_alternate, 3, 0},
    {"a small stack", small_stack, 2, 1},
    {"a stack from malloc", stack_from_malloc, 1, 1},
    {"a coroutine", coroutine, 2, 0},
    {"a plugin", plugin, 2, 0},
    {"a stream", stream, 2, 0},
};

#define COUNT (sizeof OPERATIONS / sizeof *OPERATIONS)

static int weights[COUNT], sum;
static const char *without[COUNT];
static int withouts;

static int left_out(const char *name)
{
	int i;

	for (i = 0; i < withouts; i++)
		if (!strncmp(name, without[i], strlen(without[i])))
			return 1;
	return 0;
}

/* It begins with all signals blocked: they find no thread without counts. */
static void *work(void *argument)
{
	sigset_t none;

	me = argument;
	begin_counts();
	sigemptyset(&none);
	MUST(!pthread_sigmask(SIG_SETMASK, &none, NULL));
	while (seconds() < episode.end) {
		int left = (int)draw((uint64_t)sum);
		size_t which = 0;

		while (left >= weights[which])
			left -= weights[which++];
		me->doing = OPERATIONS[which].name;
		me->operation++;
		OPERATIONS[which].run();
	}
	me->doing = "the end";
	look_at_counts();
	check_all(1);
	while (me->shares)
		drop_share();
	if (me->in_ring)
		close(me->ring.descriptor);
	me->in_ring = NULL;
	while (me->blocks)
		drop(&me->block[me->blocks - 1]);
	me->ended = 1;
	return NULL;
}

/* Says who stands still: an operation takes no twenty seconds. */
static void *watch(void *argument)
{
	long seen[THREADS] = {0};
	double since[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		since[i] = seconds();
	for (;;) {
		usleep(200000);
		for (i = 0; i <= episode.threads; i++) {
			if (selves[i].operation != seen[i] || selves[i].ended) {
				seen[i] = selves[i].operation;
				since[i] = seconds();
			} else if (seconds() - since[i] > 20) {
				if (getenv("CONTRACT_STAY"))
					pause();
				fail("seed %llu, thread %d, operation %ld, %s: hangs", (unsigned long long)episode.seed, i,
				     selves[i].operation, selves[i].doing ? selves[i].doing : "before the first");
			}
		}
	}
	return argument;
}

/* musl's fork writes to what it keeps for each thread. It fails where that lies
   beside a buffer of a device's, and stays so. */
#ifdef __GLIBC__
#define FORKS_TOUCH_THREADS 0
#else
#define FORKS_TOUCH_THREADS 1
#endif

/* Whether this user may have others' writes wait, those of system calls included. */
static int has_userfaultfd(void)
{
	int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (file >= 0)
		close(file);
	return file >= 0;
}

/* What the episode is like: the first draws of its seed. */
static void draw_episode(void)
{
	static const int NUMBERS[] = {0, 0, 1, 1, 2, 3, 5, 8};
	struct itimerval often = {{0, 0}, {0, 0}};
	size_t i;

	me = &selves[0];
	me->drawn = mix(episode.seed);
	me->doing = "the begin";
	episode.threads = NUMBERS[draw(8)];
	episode.pins = chance(3) && !left_out("pins");
	episode.single = !episode.threads && chance(2);
	episode.heap = ((size_t)24 << draw(4)) * MIB / ((size_t)episode.threads + 1);
	for (i = 0; i < COUNT; i++) {
		int ring = OPERATIONS[i].run == read_by_ring || OPERATIONS[i].run == read_direct;

		weights[i] = OPERATIONS[i].weight * (int)(chance(5) ? 0 : 1 + draw(3));
		if (i < 4)
			weights[i] = OPERATIONS[i].weight;
		if ((ring && !episode.pins) || (OPERATIONS[i].alone && episode.single) || left_out(OPERATIONS[i].name))
			weights[i] = 0;
		if (FORKS_TOUCH_THREADS && episode.pins && OPERATIONS[i].run == stack_from_malloc)
			weights[i] = 0;
		sum += weights[i];
	}
	episode.forks_may_fail = episode.pins && !episode.single && !has_userfaultfd();
	handle(chance(2) ? SA_ONSTACK : 0);
	often.it_interval.tv_usec = often.it_value.tv_usec = (suseconds_t)(200 + draw(5000));
	if (!chance(4))
		MUST(!setitimer(ITIMER_REAL, &often, NULL));
	episode.end = seconds() + 1 + (double)draw(1500) / 1000;
}

static void run_episode(void)
{
	pthread_t thread[THREADS], watcher;
	sigset_t all;
	int i;

	sigfillset(&all);
	MUST(!pthread_sigmask(SIG_BLOCK, &all, NULL));
	draw_episode();
	begin_files();
	begin_forks();
	for (i = 0; i <= episode.threads; i++) {
		selves[i].number = i;
		selves[i].drawn = mix(episode.seed + (uint64_t)i * 7919);
	}
	if (!episode.single)
		MUST(!pthread_create(&watcher, NULL, watch, NULL));
	for (i = 1; i <= episode.threads; i++)
		MUST(!pthread_create(&thread[i], NULL, work, &selves[i]));
	work(&selves[0]);
	for (i = 1; i <= episode.threads; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	double end;
	uint64_t seed = 1;
	int i, length = 10, only = 0, status;
	long count = 0;

	episode.program = "/proc/self/exe";
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--nothing"))
			return 42;
		CHECK(i + 1 < argc);
		if (!strcmp(argv[i], "--seconds"))
			length = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--plugin"))
			episode.plugin = argv[i + 1];
		else if (!strcmp(argv[i], "--without") && withouts < (int)COUNT)
			without[withouts++] = argv[i + 1];
		else
			seed = strtoull(argv[i + 1], NULL, 10);
		only |= !strcmp(argv[i], "--episode");
		i++;
	}
	episode.seed = seed;
	if (only)
		run_episode();
	end = seconds() + length;
	do {
		char text[32];
		char **words = calloc((size_t)argc + 3, sizeof *words);
		pid_t child;

		/* What it was itself asked for; the last seed counts. */
		memcpy(words, argv, (size_t)argc * sizeof *words);
		words[argc] = (char *)"--episode";
		words[argc + 1] = text;
		snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
		if (!(child = fork())) {
			execv("/proc/self/exe", words);
			_exit(3);
		}
		CHECK(waitpid(child, &status, 0) == child);
		if (status)
			fail("seed %llu: the episode's status is %#x", (unsigned long long)seed, (unsigned)status);
		free(words);
		seed++;
		count++;
	} while (seconds() < end);
	printf("%ld episodes\n", count);
	fflush(stdout);
	right();
}
