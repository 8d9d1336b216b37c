/* Shared memory of four kinds. */
#ifndef SHARES_H
#define SHARES_H
#include "forks.h"
#include <dlfcn.h>
#include <sys/shm.h>

/* Its first page is for children to write to. */
#define OWN 4096

static void make_share(void)
{
	static void *(*get_huge_pages)(size_t, int);
	struct share *share = &me->share[me->shares];
	enum kind kind = (enum kind)draw(KINDS);
	size_t size = (1 + draw(1200)) * 4096 + OWN;
	void *at = MAP_FAILED;

	if (me->shares == SHARES)
		return;
	share->handle = -1;
	switch (kind) {
	case SEGMENT:
		MUST((share->handle = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600)) >= 0);
		at = shmat(share->handle, NULL, 0);
		MUST(!shmctl(share->handle, IPC_RMID, NULL));
		break;
	case ANONYMOUS:
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		break;
	case MEMORY_FILE:
		take_descriptors();
		share->handle = (int)syscall(SYS_memfd_create, "contract", 1);
		leave_descriptors();
		MUST(share->handle >= 0 && !ftruncate(share->handle, (off_t)size));
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, share->handle, 0);
		break;
	default:
		if (!get_huge_pages)
			get_huge_pages = (void *(*)(size_t, int))dlsym(RTLD_DEFAULT, "get_huge_pages");
		size = 4 * MIB;
		at = get_huge_pages ? get_huge_pages(size, 0) : NULL;
		if (!at)
			return;
	}
	if (at == MAP_FAILED)
		differ("shared memory of kind %d fails", (int)kind);
	share->at = at;
	share->size = size;
	share->kind = kind;
	share->id = ((uint64_t)me->number << 24) + (uint64_t)me->operation + 1;
	memset(at, 0, OWN);
	fill(share->at + OWN, share->id, 0, size - OWN);
	me->shares++;
}

static void check_share(struct share *share)
{
	compare(share->at + OWN, share->id, 0, share->size - OWN, 31);
}

static struct share *any_share(void)
{
	return me->shares ? &me->share[draw((uint64_t)me->shares)] : NULL;
}

static void drop_share(void)
{
	static void (*free_huge_pages)(void *);
	struct share *share = any_share();

	if (!share)
		return;
	check_share(share);
	switch (share->kind) {
	case SEGMENT:
		MUST(!shmdt(share->at));
		break;
	case HUGE_PAGES:
		if (!free_huge_pages)
			free_huge_pages = (void (*)(void *))dlsym(RTLD_DEFAULT, "free_huge_pages");
		free_huge_pages(share->at);
		break;
	default:
		MUST(!munmap(share->at, share->size));
		if (share->handle >= 0)
			close(share->handle);
	}
	*share = me->share[--me->shares];
}

/* What libhugetlbfs(7) says of parts of huge pages that another process has, too:
   a child of another thread may live just now. */
static int may_be_refused(const struct share *share)
{
	return errno == EINVAL && episode.threads && share->kind != MEMORY_FILE;
}

/* A page of it closed and opened, as a plain run may. */
static void protect_share(void)
{
	struct share *share = any_share();
	volatile unsigned char *page;

	if (!share || share->kind == HUGE_PAGES || share->size < 4 * 4096)
		return;
	page = share->at + OWN + (draw((share->size - OWN) / 4096) << 12);
	if (mprotect((void *)page, 4096, PROT_READ)) {
		if (!may_be_refused(share))
			differ("mprotect of a page of shared memory of kind %d", (int)share->kind);
		return;
	}
	MUST_FAULT(*page = *page);
	MUST(!mprotect((void *)page, 4096, PROT_READ | PROT_WRITE));
	*page = *page;
	check_share(share);
}

static void advise_share(void)
{
	static const int ADVICE[] = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_DONTDUMP,
				     MADV_DODUMP, 20 /* COLD */};
	struct share *share = any_share();
	int advice = ADVICE[draw(sizeof ADVICE / sizeof *ADVICE)];
	unsigned char *page;

	if (!share || share->kind == HUGE_PAGES)
		return;
	page = share->at + OWN + (draw((share->size - OWN) / 4096) << 12);
	if (madvise(page, 4096, advice))
		differ("madvise %d of shared memory of kind %d", advice, (int)share->kind);
	/* One mapping again. */
	MUST(!madvise(page, 4096, MADV_NORMAL) && !madvise(page, 4096, MADV_DODUMP));
	check_share(share);
}

/* The same memory once more, and larger. */
static void map_share_again(void)
{
	struct share *share = any_share();
	unsigned char *other;

	if (!share || (share->kind != ANONYMOUS && share->kind != MEMORY_FILE))
		return;
	other = mremap(share->at, 0, share->size, MREMAP_MAYMOVE);
	if (other == MAP_FAILED) {
		if (!may_be_refused(share))
			differ("an alias of shared memory of kind %d", (int)share->kind);
		return;
	}
	compare(other + OWN, share->id, 0, share->size - OWN, 31);
	other[0]++;
	MUST(other[0] == share->at[0]);
	MUST(!munmap(other, share->size));
	other = mremap(share->at, share->size, share->size + 65536, MREMAP_MAYMOVE);
	if (other == MAP_FAILED && errno == ENOMEM && episode.threads && share->kind == ANONYMOUS)
		return;
	if (other == MAP_FAILED)
		differ("growth of shared memory of kind %d", (int)share->kind);
	share->at = other;
	MUST(!munmap(other + share->size, 65536));
	check_share(share);
}

#endif
