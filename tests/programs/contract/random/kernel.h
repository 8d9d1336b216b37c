/* Calls on parts of blocks, and what the kernel writes into them. */
#ifndef KERNEL_H
#define KERNEL_H
#include "blocks.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FILE_SIZE ((size_t)256 << 10)

/* The whole pages in a block: where they begin, how many. */
static size_t pages_of(const struct block *block, unsigned char **first)
{
	uintptr_t from = ((uintptr_t)block->at + 4095) & ~(uintptr_t)4095;
	uintptr_t to = ((uintptr_t)block->at + block->size) & ~(uintptr_t)4095;

	*first = (unsigned char *)from;
	return to > from ? (to - from) >> 12 : 0;
}

/* Some pages inside of a block, with at least one before and behind. */
static struct block *some_pages(unsigned char **from, size_t *length)
{
	struct block *block = any(40000);
	size_t count, at;

	if (!block)
		return NULL;
	count = pages_of(block, from);
	at = 1 + draw(count - 2);
	*length = 1 + draw(count - 1 - at < 16 ? count - 1 - at : 16);
	*from += at << 12;
	*length <<= 12;
	return block;
}

/* The words of a part, from a place that is a whole word of the block's. */
static void refill(const struct block *block, const unsigned char *from, size_t length)
{
	size_t at = (size_t)(from - block->at);

	fill(block->at, block->id, at & ~(size_t)7, (at + length + 7) & ~(size_t)7);
}

static void protect(void)
{
	unsigned char *from;
	size_t length;
	struct block *block = some_pages(&from, &length);
	volatile unsigned char *inside, *beside;

	if (!block)
		return;
	inside = from + draw(length);
	beside = chance(2) ? from - 1 : from + length;
	MUST(!mprotect(from, length, PROT_READ));
	check(block);
	if (!episode.pins)
		MUST_FAULT(*inside = *inside);
	*beside = *beside;
	MUST(!mprotect(from, length, PROT_NONE));
	if (!episode.pins)
		MUST_FAULT(*inside);
	*beside = *beside;
	MUST(!mprotect(from, length, PROT_READ | PROT_WRITE));
	*inside = *inside;
	check(block);
}

static void advise(void)
{
	static const int ADVICE[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, 8 /* FREE */,
				     MADV_DONTDUMP, MADV_DODUMP, MADV_HUGEPAGE, MADV_NOHUGEPAGE, 20 /* COLD */,
				     21 /* PAGEOUT */, 22 /* POPULATE_READ */, 23 /* POPULATE_WRITE */, 777};
	int advice = ADVICE[draw(sizeof ADVICE / sizeof *ADVICE)], plainly, error, is;
	unsigned char *from, *page;
	size_t length;
	struct block *block = some_pages(&from, &length);

	if (!block)
		return;
	/* A mapping of the program's own tells what the kernel says. */
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(page != MAP_FAILED);
	errno = 0;
	plainly = madvise(page, 4096, advice);
	error = errno;
	MUST(!munmap(page, 8192));
	errno = 0;
	is = madvise(from, length, advice);
	if (is != plainly || errno != error)
		differ("madvise(%p, %zu, %d) is %d, errno %d; plainly %d, errno %d", (void *)from, length, advice, is, errno,
		       plainly, error);
	if (advice == MADV_DONTNEED)
		MUST(!from[0] && !from[length - 1]);
	if (advice == MADV_DONTNEED || advice == 8)
		refill(block, from, length);
	check(block);
}

static void lock_pages(void)
{
	unsigned char *from;
	size_t length;
	struct block *block = some_pages(&from, &length);

	if (!block)
		return;
	MUST(!mlock(from + 10, length - 20));
	check(block);
	MUST(!munlock(from + 10, length - 20));
}

/* The file has word i of block 1 at its place. */
static void begin_files(void)
{
	char name[] = "/tmp/contract-XXXXXX", self[64];
	unsigned char *content = get(FILE_SIZE);

	fill(content, 1, 0, FILE_SIZE);
	MUST((episode.file = mkstemp(name)) >= 0);
	snprintf(self, sizeof self, "/proc/self/fd/%d", episode.file);
	MUST(write(episode.file, content, FILE_SIZE) == (ssize_t)FILE_SIZE && !fsync(episode.file));
	/* Who has such a file may have its pages written to by a device. */
	episode.direct = episode.pins ? open(name, O_RDONLY | O_DIRECT) : -1;
	MUST(!unlink(name));
	MUST((episode.zero = open("/dev/zero", O_RDONLY)) >= 0);
	free(content);
}

static void read_file(void)
{
	struct block *block = any(8);
	size_t length, offset;

	if (!block)
		return;
	length = block->size < FILE_SIZE ? block->size & ~(size_t)7 : FILE_SIZE;
	offset = draw(FILE_SIZE - length + 1) & ~(size_t)7;
	MUST(pread(episode.file, block->at, length, (off_t)offset) == (ssize_t)length);
	for (size_t i = 0; i < length; i += 4096 / 8 * 8)
		MUST(*(uint64_t *)(void *)(block->at + i) == word(1, (offset + i) / 8));
	fill(block->at, block->id, 0, length);
}

static void read_direct(void)
{
	unsigned char *from;
	size_t length;
	struct block *block = some_pages(&from, &length);

	if (!block || episode.direct < 0)
		return;
	MUST(pread(episode.direct, from, length, 0) == (ssize_t)length);
	compare(from, 1, 0, length, 1);
	refill(block, from, length);
	check(block);
}

static void read_by_ring(void)
{
	struct block *block;
	int got;

	if (!me->in_ring) {
		block = any(65536);
		if (!block || me->ring.descriptor < 0)
			return;
		if (ring_begin(&me->ring, block->at, block->size)) {
			if (me->ring.descriptor >= 0)
				close(me->ring.descriptor);
			me->ring.descriptor = -1;
			return;
		}
		me->in_ring = block;
	}
	block = me->in_ring;
	got = ring_read_fixed(&me->ring, episode.file, block->at, 65536);
	if (got != 65536)
		differ("a fixed read gives %d", got);
	compare(block->at, 1, 0, 65536, 1);
	fill(block->at, block->id, 0, 65536);
	if (chance(20)) {
		close(me->ring.descriptor);
		memset(&me->ring, 0, sizeof me->ring);
		me->in_ring = NULL;
	}
}

static const char *const CALLS[] = {"fstat", "getcwd", "poll", "sigprocmask", "getrandom", "read"};

/* Calls that write a little. */
static void ask_kernel(void)
{
	struct block *block = any(8192);
	unsigned char *at;
	long got, wanted = 0;
	int which;

	if (!block)
		return;
	at = block->at + (draw(block->size - 4096) & ~(size_t)15);
	errno = 0;
	switch ((which = (int)draw(6))) {
	case 0:
		got = fstat(episode.file, (struct stat *)(void *)at);
		MUST(got || ((struct stat *)(void *)at)->st_size == (off_t)FILE_SIZE);
		break;
	case 1:
		wanted = 1;
		got = getcwd((char *)at, 4096) != NULL;
		break;
	case 2:
		wanted = 1;
		*(struct pollfd *)(void *)at = (struct pollfd){.fd = episode.zero, .events = POLLIN};
		got = poll((struct pollfd *)(void *)at, 1, 0);
		/* Another thread may just have limited descriptors to none. */
		if (got < 0 && errno == EINVAL)
			got = 1;
		break;
	case 3:
		got = sigprocmask(SIG_BLOCK, NULL, (sigset_t *)(void *)at);
		break;
	case 4:
		got = getrandom(at, (size_t)(wanted = 256), 0);
		break;
	default:
		got = read(episode.zero, at, (size_t)(wanted = 4096));
	}
	if (got != wanted)
		differ("%s that writes to %p is %ld, not %ld", CALLS[which], (void *)at, got, wanted);
	refill(block, at, 4096);
	check(block);
}

#endif
