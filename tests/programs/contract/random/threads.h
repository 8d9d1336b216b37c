/* Signals and their stacks, threads and coroutines on stacks from malloc, small
   stacks, plugins, streams. */
#ifndef THREADS_H
#define THREADS_H
#include "shares.h"
#include <limits.h>
#include <sys/time.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif

/* A timer's handler: counts, touches much of its stack, and forks now and then. */
static void on_alarm(int signal)
{
	volatile char frame[2000];
	int error = errno, status;

	(void)signal;
	if (!me || me->ended)
		return;
	memset((char *)frame, 1, sizeof frame);
	(*me->in_page)++;
	(*me->in_heap)++;
	in_bss[me->number]++;
	if (*me->in_page % 16 == 0 && !me->keeps_whole && (episode.single || _Fork)) {
		pid_t child = episode.single ? fork() : _Fork();

		if (!child)
			_exit(42);
		if (child < 0 && errno == ENOMEM && episode.forks_may_fail) {
			errno = error;
			return;
		}
		if (child < 0)
			differ("a fork in a handler fails");
		while (waitpid(child, &status, 0) < 0)
			if (errno != EINTR)
				differ("no child of a handler");
		if (status != 42 << 8)
			differ("the status of a handler's child is %#x", (unsigned)status);
	}
	errno = error;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)context;
	if (me && me->expects)
		siglongjmp(me->back, 1);
	differ("signal %d at %p", signal, info ? info->si_addr : NULL);
}

static void handle(int flags)
{
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | flags};
	struct sigaction alarm = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | flags};

	MUST(!sigaction(SIGSEGV, &fault, NULL) && !sigaction(SIGBUS, &fault, NULL) && !sigaction(SIGSYS, &fault, NULL) &&
	     !sigaction(SIGILL, &fault, NULL) && !sigaction(SIGPIPE, &fault, NULL) && !sigaction(SIGXFSZ, &fault, NULL) &&
	     !sigaction(SIGALRM, &alarm, NULL));
}

static void look_at_counts(void)
{
	sigset_t alarm, before;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	MUST(!pthread_sigmask(SIG_BLOCK, &alarm, &before));
	compare_counts("parent");
	MUST(!pthread_sigmask(SIG_SETMASK, &before, NULL));
}

static void new_alternate(void)
{
	size_t size = 32768 + draw(65536);
	stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
	void *old = me->alternate;

	MUST(stack.ss_sp && !sigaltstack(&stack, NULL));
	me->alternate = stack.ss_sp;
	free(old);
	raise(SIGALRM);
}

static void begin_counts(void)
{
	me->in_heap = calloc(1, 6000);
	me->in_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(me->in_heap && me->in_page != MAP_FAILED);
}

/* A thread that lends its creator's name, and does little. */
static void *little(void *argument)
{
	char *block[100];
	int i;

	for (i = 0; i < 100; i++)
		if ((block[i] = malloc(500 + (size_t)i * (size_t)i * 10)))
			block[i][0] = 1;
	for (i = 0; i < 100; i++)
		free(block[i]);
	return argument;
}

static void *fork_little(void *argument)
{
	volatile int here = 7;
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(here == 7 ? 42 : 41);
	if (child < 0 && errno == ENOMEM)
		return (void *)2;
	if (child < 0)
		differ("a fork on a stack from malloc fails");
	if (waitpid(child, &status, 0) != child || status != 42 << 8)
		differ("the status of a child on a stack from malloc is %#x", (unsigned)status);
	if (here != 7 || !argument)
		differ("a stack from malloc has %d where it was 7", here);
	return (void *)1;
}

static void *in_thread(void *(*function)(void *), pthread_attr_t *attributes)
{
	sigset_t all, before;
	pthread_t thread;
	void *result = NULL;

	/* It has no counts of its own. */
	sigfillset(&all);
	MUST(!pthread_sigmask(SIG_BLOCK, &all, &before));
	me->keeps_whole++;
	MUST(!pthread_create(&thread, attributes, function, me));
	me->keeps_whole--;
	MUST(!pthread_sigmask(SIG_SETMASK, &before, NULL));
	MUST(!pthread_join(thread, &result));
	return result;
}

static void small_stack(void)
{
	pthread_attr_t attributes;
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);

	pthread_attr_init(&attributes);
	MUST(!pthread_attr_setstacksize(&attributes, least < 16384 ? 16384 : least));
	MUST(in_thread(little, &attributes) == me);
}

static void stack_from_malloc(void)
{
	pthread_attr_t attributes;
	void *stack = NULL, *result;

	MUST(!posix_memalign(&stack, 4096, 256 << 10));
	pthread_attr_init(&attributes);
	MUST(!pthread_attr_setstack(&attributes, stack, 256 << 10));
	result = in_thread(fork_little, &attributes);
	/* What libc keeps for it may lie beside a buffer of a device's. */
	MUST(result == (void *)1 || (episode.pins && result == (void *)2));
	free(stack);
}

#ifdef __GLIBC__
static __thread ucontext_t outer, inner;
static __thread void *coroutine_result;

static void run_coroutine(void)
{
	little(NULL);
	me->keeps_whole++;
	coroutine_result = fork_little(me);
	me->keeps_whole--;
	make_block();
	check_one();
}
#endif

static void coroutine(void)
{
#ifdef __GLIBC__
	void *stack = malloc(64 << 10);

	MUST(stack && !getcontext(&inner));
	inner.uc_stack.ss_sp = stack;
	inner.uc_stack.ss_size = 64 << 10;
	inner.uc_link = &outer;
	makecontext(&inner, run_coroutine, 0);
	coroutine_result = NULL;
	swapcontext(&outer, &inner);
	MUST(coroutine_result == (void *)1 || (episode.forks_may_fail && coroutine_result == (void *)2));
	free(stack);
#endif
}

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

static void plugin(void)
{
	void *handle, *ours, *theirs;
	void *(*give)(size_t);
	void (*take)(void *);

	if (!episode.plugin)
		return;
	take_descriptors();
	handle = dlopen(episode.plugin, RTLD_NOW | (chance(2) ? RTLD_DEEPBIND : 0));
	if (!handle)
		differ("dlopen: %s", dlerror());
	give = (void *(*)(size_t))dlsym(handle, "plugin_give");
	take = (void (*)(void *))dlsym(handle, "plugin_take");
	MUST(give && take);
	theirs = give(draw_size(MIB));
	ours = malloc(draw_size(MIB));
	MUST(theirs && ours);
	take(ours);
	free(realloc(theirs, draw_size(MIB)));
	if (chance(3))
		MUST(!dlclose(handle));
	leave_descriptors();
}

static void stream(void)
{
	FILE *file;
	char *line = NULL;
	size_t size = 0;

	take_descriptors();
	file = fopen("/dev/null", "w");
	MUST(file);
	setvbuf(file, NULL, _IOFBF, 1 + draw(100000));
	MUST(fprintf(file, "%ld %s\n", me->operation, me->doing) > 0 && !fflush(NULL) && !fclose(file));
	file = open_memstream(&line, &size);
	MUST(file && fprintf(file, "%ld", me->operation) > 0 && !fclose(file) && atol(line) == me->operation);
	free(line);
	leave_descriptors();
}

/* The program's own handlers of forks allocate, and hold the table's lock. */
static void prepare(void)
{
	free(malloc(300000));
	pthread_mutex_lock(table_lock);
}

static void after(void)
{
	pthread_mutex_unlock(table_lock);
	free(malloc(70000));
}

static void begin_forks(void)
{
	MUST((table_lock = malloc(3000)) && !pthread_mutex_init(table_lock, NULL));
	MUST(!pthread_atfork(prepare, after, after));
}

#endif
