/* What /proc/self/smaps says of memory of each kind after each call that changes it: where
   the parts of the mapping end, counted in pages from its beginning, what may be done with
   each, whether it is shared, of which file at which offset, and what the program asked
   for by advice. No address is printed. A line a call:

   KIND CALL: RESULT ERRNO | FIRST-END RIGHTS OFFSET NAME [FLAGS] | ...

   maps_calls [KIND...] */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "maps.h"

#define MB ((size_t)1 << 20)
#define LEN (8 * MB + 3 * PAGE)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static const char *kind;
static char *memory, *room;
static size_t size, room_size;
static int segment = -1, file = -1;

static void say(const char *what, long result)
{
	int error = errno;

	printf("%s %s: %ld %d", kind, what, result, result < 0 ? error : 0);
	tell_range(memory, size);
	errno = 0;
}

static void *check(void *at)
{
	if (at == MAP_FAILED) {
		perror(kind);
		exit(3);
	}
	return at;
}

static int disk_file(void)
{
	int made = open("/tmp/maps_calls.file", O_RDWR | O_CREAT | O_TRUNC, 0600);

	unlink("/tmp/maps_calls.file");
	return made;
}

/* Whether nothing lies beside the memory that it could be merged with, now and later: a
   file, above and below. */
static int is_fenced(int fence, char *above)
{
	int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE;
	char *end = memory + size;

	return mmap(memory - PAGE, PAGE, PROT_NONE, flags, fence, 0) == memory - PAGE &&
	       (end == above || mmap(end, PAGE, PROT_NONE, flags, fence, 0) == end);
}

static void make_private(void)
{
	int fence = disk_file(), tries;

	/* Those with another neighbour stay as they are. */
	for (tries = 0; tries < 20; tries++) {
		char *above = check(mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE, fence, 0));

		memory = check(mmap(NULL, LEN, RW, ANON, -1, 0));
		if (is_fenced(fence, above))
			break;
	}
	close(fence);
}

static void make_small(void)
{
	size = 40 * PAGE;
	room_size = size + 2 * PAGE;
	room = check(mmap(NULL, room_size, PROT_NONE, ANON | MAP_NORESERVE, -1, 0));
	memory = room + PAGE;
	check(mmap(memory, size, RW, ANON | MAP_FIXED, -1, 0));
}

static void make_fixed(void)
{
	room_size = 64 * MB;
	room = check(mmap(NULL, room_size, PROT_NONE, ANON | MAP_NORESERVE, -1, 0));
	memory = room + 3 * MB + PAGE;
	check(mmap(memory, LEN, RW, ANON | MAP_FIXED, -1, 0));
}

static void make_committed(void)
{
	room_size = 64 * MB;
	room = check(mmap(NULL, room_size, PROT_NONE, ANON, -1, 0));
	memory = room + 3 * MB + PAGE;
	if (mprotect(memory, LEN, RW))
		exit(4);
}

static void make_shared(void)
{
	memory = check(mmap(NULL, LEN, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static void make_shared_fixed(void)
{
	room_size = 64 * MB;
	room = check(mmap(NULL, room_size, PROT_NONE, ANON | MAP_NORESERVE, -1, 0));
	memory = room + 3 * MB + PAGE;
	check(mmap(memory, LEN, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

static void of_file(int from, int flags, size_t offset)
{
	file = from;
	if (file < 0 || ftruncate(file, (off_t)(LEN + offset)))
		exit(5);
	memory = check(mmap(NULL, LEN, RW, flags, file, (off_t)offset));
}

static void make_memfd(void) { of_file(memfd_create("maps_calls", MFD_CLOEXEC), MAP_SHARED, 5 * PAGE); }

static void make_memfd_private(void) { of_file(memfd_create("maps_calls", 0), MAP_PRIVATE, 0); }

static void make_posix(void)
{
	of_file(shm_open("/maps_calls", O_RDWR | O_CREAT, 0600), MAP_SHARED, 0);
	shm_unlink("/maps_calls");
}

static void make_file(void) { of_file(disk_file(), MAP_SHARED, 2 * PAGE); }

static void make_file_private(void) { of_file(disk_file(), MAP_PRIVATE, 2 * PAGE); }

static void make_segment(void)
{
	segment = shmget(IPC_PRIVATE, LEN, IPC_CREAT | 0600);
	memory = check(shmat(segment, NULL, 0));
	shmctl(segment, IPC_RMID, NULL);
}

static struct { const char *name; void (*make)(void); } KINDS[] = {
	{ "private", make_private }, { "small", make_small }, { "fixed", make_fixed },
	{ "committed", make_committed }, { "shared", make_shared },
	{ "shared-fixed", make_shared_fixed }, { "memfd", make_memfd },
	{ "memfd-private", make_memfd_private }, { "posix", make_posix }, { "file", make_file },
	{ "file-private", make_file_private }, { "segment", make_segment },
};
#define COUNT(all) (sizeof all / sizeof *all)

static void make(size_t number)
{
	kind = KINDS[number].name;
	size = LEN;
	room = NULL;
	KINDS[number].make();
	errno = 0;
}

static void drop(void)
{
	if (segment >= 0)
		shmdt(memory);
	munmap(memory, size);
	if (room)
		munmap(room, room_size);
	if (file >= 0)
		close(file);
	segment = file = -1;
	munlockall();
}

/* Parts: some pages in the middle of a huge page, at the beginning, at the end. */
static char *part(int which)
{
	size_t pages = size / PAGE;

	switch (which) {
	case 0:
		return memory + (pages / 2 + 5) * PAGE;
	case 1:
		return memory;
	default:
		return memory + (pages - 2) * PAGE;
	}
}

static void protections(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		say("mprotect none", mprotect(part(i), 2 * PAGE, PROT_NONE));
		say("mprotect read", mprotect(part(i), 2 * PAGE, PROT_READ));
		say("mprotect back", mprotect(part(i), 2 * PAGE, RW));
	}
	say("pkey_mprotect", pkey_mprotect(part(0), PAGE, PROT_READ, -1));
	say("mprotect all", mprotect(memory, size, RW));
	say("mprotect read all", mprotect(memory, size, PROT_READ));
	say("mprotect write a part", mprotect(part(0), 2 * PAGE, RW));
	say("mprotect exec", mprotect(part(1), PAGE, PROT_READ | PROT_EXEC));
	say("mprotect odd", mprotect(memory + 5, PAGE, RW));
	say("mprotect by number", syscall(SYS_mprotect, part(0), 3 * PAGE, PROT_READ));
}

static struct { const char *name; int advice; } ADVICE[] = {
	{ "random", MADV_RANDOM }, { "normal", MADV_NORMAL }, { "sequential", MADV_SEQUENTIAL },
	{ "willneed", MADV_WILLNEED }, { "normal", MADV_NORMAL }, { "dontfork", MADV_DONTFORK },
	{ "dofork", MADV_DOFORK }, { "dontdump", MADV_DONTDUMP }, { "dodump", MADV_DODUMP },
	{ "wipeonfork", 18 }, { "keeponfork", 19 }, { "mergeable", MADV_MERGEABLE },
	{ "unmergeable", MADV_UNMERGEABLE }, { "dontneed", MADV_DONTNEED }, { "free", MADV_FREE },
	{ "remove", MADV_REMOVE }, { "cold", 20 }, { "pageout", 21 }, { "populate", 23 },
	{ "nohugepage", MADV_NOHUGEPAGE }, { "wrong", 12345 },
};

static void advices(void)
{
	char what[40];
	size_t i;

	for (i = 0; i < COUNT(ADVICE); i++) {
		snprintf(what, sizeof what, "madvise %s", ADVICE[i].name);
		say(what, madvise(part(0), 2 * PAGE, ADVICE[i].advice));
		snprintf(what, sizeof what, "madvise all %s", ADVICE[i].name);
		say(what, madvise(memory, size, ADVICE[i].advice));
	}
	say("posix_madvise", posix_madvise(part(1), PAGE, POSIX_MADV_RANDOM));
	say("posix_madvise back", posix_madvise(part(1), PAGE, POSIX_MADV_NORMAL));
	say("madvise by number", syscall(SYS_madvise, part(0), PAGE, MADV_DONTDUMP));
}

static void locks(void)
{
	say("mlock", mlock(part(0) + 7, PAGE));
	say("mprotect of locked", mprotect(part(0), 4 * PAGE, PROT_READ));
	say("munlock", munlock(part(0), 4 * PAGE));
	say("mlock2", mlock2(part(1), 3 * PAGE, MLOCK_ONFAULT));
	say("munlock all", munlock(memory, size));
	say("mlockall", mlockall(MCL_CURRENT));
	say("munlockall", munlockall());
}

static void holes(void)
{
	int i;

	for (i = 0; i < 3; i++)
		say("munmap", munmap(part(i), PAGE));
	say("mmap fixed", mmap(part(0), PAGE, RW, ANON | MAP_FIXED, -1, 0) == part(0) ? 0 : -1);
	say("mmap reserve", mmap(part(1), 4 * PAGE, PROT_NONE, ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == part(1) ? 0 : -1);
	say("mmap shared", mmap(part(2), PAGE, RW, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == part(2) ? 0 : -1);
	say("mmap noreplace", mmap(part(0), PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0) == part(0) ? 0 : -1);
	say("mprotect over a hole", mprotect(memory, size, PROT_READ));
	say("munmap middle", munmap(memory + size / PAGE / 4 * PAGE, size / PAGE / 2 * PAGE));
	say("munmap by number", syscall(SYS_munmap, memory, PAGE));
	say("munmap odd", munmap(memory + 1, PAGE));
}

static void commits(void)
{
	size_t quarter = size / 4 / PAGE * PAGE, i;

	say("mmap none", mmap(memory, size, PROT_NONE, ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == memory ? 0 : -1);
	for (i = 0; i < 3; i++)
		say("mprotect next", mprotect(memory + i * quarter, quarter, RW));
	say("mmap step", mmap(memory, 4 * PAGE, RW, ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == memory ? 0 : -1);
	say("mmap step", mmap(memory + 4 * PAGE, 4 * PAGE, RW, ANON | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED ? -1 : 0);
	say("mmap other", mmap(memory + 8 * PAGE, 4 * PAGE, RW, ANON | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0);
	say("mprotect none", mprotect(memory, 2 * quarter, PROT_NONE));
}

static void moved(const char *what, void *now, size_t len)
{
	if (now != MAP_FAILED) {
		memory = now;
		size = len;
	}
	say(what, now == MAP_FAILED ? -1 : 0);
}

static void moves(void)
{
	size_t before = size;
	char *other;

	madvise(part(1), PAGE, MADV_DONTDUMP);
	moved("mremap shrink", mremap(memory, size, size - 4 * PAGE, 0), before - 4 * PAGE);
	madvise(part(1), PAGE, MADV_DODUMP);
	moved("mremap grow", mremap(memory, size, before + MB, MREMAP_MAYMOVE), before + MB);
	other = check(mmap(NULL, 64 * MB, PROT_NONE, ANON, -1, 0));
	moved("mremap fixed", mremap(memory, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, other + MB), size);
	moved("mremap a part", mremap(memory + PAGE, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, other + 32 * MB), 8 * PAGE);
	moved("mremap dontunmap", mremap(memory, size, size, MREMAP_MAYMOVE | 4, NULL), size);
	moved("mremap twice", mremap(memory, 0, size, MREMAP_MAYMOVE), size);
	moved("mremap to nothing", mremap(memory, size, 0, MREMAP_MAYMOVE), size);
	munmap(other, 64 * MB);
}

static void names(void)
{
	/* PR_SET_VMA, PR_SET_VMA_ANON_NAME */
	say("prctl name", prctl(0x53564d41, 0, (long)part(0), 2 * PAGE, (long)"part"));
	say("prctl name all", prctl(0x53564d41, 0, (long)memory, size, (long)"all"));
	say("prctl no name", prctl(0x53564d41, 0, (long)memory, size, 0L));
}

static void policies(void)
{
	unsigned long nodes = 1;

	say("mbind", syscall(SYS_mbind, part(0), 2 * PAGE, 2, &nodes, 64, 0));
	say("mbind back", syscall(SYS_mbind, memory, size, 0, NULL, 0, 0));
	say("msync", msync(memory, size, MS_ASYNC));
}

static void by_processes(void)
{
	struct iovec parts[] = { { part(0), 2 * PAGE }, { part(1), PAGE } };
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	say("process_madvise", process_madvise(self, parts, 2, 20, 0));
	close(self);
}

static void in_child(void)
{
	int status = 0;
	pid_t pid;

	madvise(part(0), 2 * PAGE, MADV_DONTFORK);
	madvise(part(1), 2 * PAGE, 18);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		say("fork child", 0);
		memory[0] = 1;
		say("fork child writes", mprotect(part(2), PAGE, PROT_READ));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	say("fork", status);
}

static void touched(void)
{
	memset(memory, 7, size);
	say("written", 0);
	mprotect(part(0), PAGE, PROT_READ);
	madvise(part(1), PAGE, MADV_DONTNEED);
	mprotect(part(0), PAGE, RW);
	say("written, cut and back", 0);
}

static struct { const char *name; int prot, flags; } MADE[] = {
	{ "none", PROT_NONE, 0 }, { "read", PROT_READ, 0 }, { "exec", RW | PROT_EXEC, 0 },
	{ "noreserve", RW, MAP_NORESERVE }, { "locked", RW, MAP_LOCKED }, { "stack", RW, MAP_STACK },
	{ "populate", RW, MAP_POPULATE }, { "low", RW, MAP_32BIT }, { "down", RW, MAP_GROWSDOWN },
	{ "sync", RW, MAP_SYNC },
};

/* Mappings as they are made, and two that follow each other. */
static void made(int type)
{
	char what[40], *next;
	size_t i;

	kind = type == MAP_SHARED ? "made shared" : "made private";
	for (i = 0; i < COUNT(MADE); i++) {
		size = LEN;
		memory = mmap(NULL, LEN, MADE[i].prot, type | MAP_ANONYMOUS | MADE[i].flags, -1, 0);
		snprintf(what, sizeof what, "mmap %s", MADE[i].name);
		say(what, memory == MAP_FAILED ? -1 : 0);
		munmap(memory, LEN);
	}
	room = check(mmap(NULL, 64 * MB, PROT_NONE, ANON, -1, 0));
	munmap(room, 64 * MB);
	memory = room;
	size = 16 * MB;
	say("mmap by hint", mmap(memory, 4 * MB, RW, type | MAP_ANONYMOUS, -1, 0) == memory ? 0 : -1);
	next = memory + 4 * MB;
	say("mmap next by hint", mmap(next, 4 * MB, RW, type | MAP_ANONYMOUS, -1, 0) == next ? 0 : -1);
	next += 4 * MB;
	say("mmap next without reserve", mmap(next, 4 * MB, RW, type | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == next ? 0 : -1);
	next = memory + 3 * MB;
	say("mmap within", mmap(next, 4 * MB, RW, type | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == next ? 0 : -1);
	mlockall(MCL_FUTURE);
	next = memory + 12 * MB;
	say("mmap while locked", mmap(next, 4 * MB, RW, type | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == next ? 0 : -1);
	munlockall();
	munmap(memory, size);
}

static void segments(void)
{
	kind = "attached";
	size = LEN;
	segment = shmget(IPC_PRIVATE, LEN, IPC_CREAT | 0700);
	memory = check(shmat(segment, NULL, SHM_RDONLY));
	say("shmat read", 0);
	say("shmdt", shmdt(memory));
	memory = check(shmat(segment, NULL, SHM_EXEC));
	say("shmat exec", 0);
	mprotect(part(0), PAGE, PROT_READ);
	say("shmdt of parts", shmdt(memory));
	memory = check(mmap(NULL, 16 * MB, PROT_NONE, ANON, -1, 0));
	size = 16 * MB;
	say("shmat where something is", shmat(segment, memory, 0) == memory ? 0 : -1);
	say("shmat over it", shmat(segment, memory, SHM_REMAP) == memory ? 0 : -1);
	say("shmdt of it", shmdt(memory));
	shmctl(segment, IPC_RMID, NULL);
	segment = -1;
	munmap(memory, size);
}

/* The stack that it runs on, and the guard below. */
static void *stack(void *name)
{
	pthread_attr_t attr;
	void *at;
	size_t guard;

	kind = name;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &at, &size);
	pthread_attr_getguardsize(&attr, &guard);
	pthread_attr_destroy(&attr);
	memory = (char *)at - guard;
	size += guard;
	say("made", (long)guard);
	say("mprotect", mprotect(memory + guard + 8 * PAGE, PAGE, PROT_NONE));
	say("mprotect back", mprotect(memory + guard + 8 * PAGE, PAGE, RW));
	return NULL;
}

static void threads(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_create(&thread, NULL, stack, "thread");
	pthread_join(thread, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 3 * MB);
	pthread_attr_setguardsize(&attr, 5 * PAGE);
	pthread_create(&thread, &attr, stack, "thread-sized");
	pthread_join(thread, NULL);
	pthread_attr_setguardsize(&attr, 0);
	pthread_create(&thread, &attr, stack, "thread-unguarded");
	pthread_join(thread, NULL);
}

static void (*const GROUPS[])(void) = {
	protections, advices, locks, holes, commits, moves, names, policies, by_processes, in_child, touched,
};

static int is_asked(int argc, char **argv, const char *name)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc == 1;
}

int main(int argc, char **argv)
{
	size_t number, group;

	for (number = 0; number < COUNT(KINDS); number++)
		for (group = 0; is_asked(argc, argv, KINDS[number].name) && group < COUNT(GROUPS); group++) {
			make(number);
			if (group == 0)
				say("made", 0);
			GROUPS[group]();
			drop();
		}
	if (is_asked(argc, argv, "made")) {
		made(MAP_PRIVATE);
		made(MAP_SHARED);
	}
	if (is_asked(argc, argv, "attached"))
		segments();
	if (is_asked(argc, argv, "threads"))
		threads();
	printf("end\n");
	return 0;
}
