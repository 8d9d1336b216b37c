/* io_uring by its system calls: one ring, one registered buffer, one fixed read
   at a time. The forms are the kernel's, written here since not every libc's
   compiler finds its headers. */
#ifndef RING_H
#define RING_H
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif

enum { READ_FIXED = 4, GET_EVENTS = 1, REGISTER_BUFFERS = 0 };
enum { PLACE_OF_SQ = 0, PLACE_OF_CQ = 0x8000000, PLACE_OF_ENTRIES = 0x10000000 };

struct sq_places {
	uint32_t head, tail, ring_mask, ring_entries, flags, dropped, array, kept;
	uint64_t user_addr;
};

struct cq_places {
	uint32_t head, tail, ring_mask, ring_entries, overflow, cqes, flags, kept;
	uint64_t user_addr;
};

struct ring_params {
	uint32_t sq_entries, cq_entries, flags, sq_thread_cpu, sq_thread_idle, features, wq_fd, kept[3];
	struct sq_places sq_off;
	struct cq_places cq_off;
};

struct ring_entry {
	uint8_t opcode, flags;
	uint16_t ioprio;
	int32_t fd;
	uint64_t off, addr;
	uint32_t len, rw_flags;
	uint64_t user_data;
	uint16_t buf_index, personality;
	uint32_t kept[5];
};

struct ring_done {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

struct ring {
	int descriptor;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct ring_entry *entry;
	struct ring_done *done;
};

/* 0, or -1 with errno. */
static UNUSED int ring_begin(struct ring *ring, void *buffer, size_t length)
{
	struct ring_params about;
	struct iovec one = {buffer, length};
	char *sq, *cq;
	size_t size;

	memset(&about, 0, sizeof about);
	ring->descriptor = (int)syscall(SYS_io_uring_setup, 8, &about);
	if (ring->descriptor < 0)
		return -1;
	size = about.sq_off.array + about.sq_entries * sizeof(unsigned);
	sq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor, PLACE_OF_SQ);
	size = about.cq_off.cqes + about.cq_entries * sizeof(struct ring_done);
	cq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor, PLACE_OF_CQ);
	size = about.sq_entries * sizeof(struct ring_entry);
	ring->entry = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->descriptor, PLACE_OF_ENTRIES);
	CHECK(sq != MAP_FAILED && cq != MAP_FAILED && ring->entry != MAP_FAILED);
	ring->sq_tail = (unsigned *)(void *)(sq + about.sq_off.tail);
	ring->sq_mask = (unsigned *)(void *)(sq + about.sq_off.ring_mask);
	ring->sq_array = (unsigned *)(void *)(sq + about.sq_off.array);
	ring->cq_head = (unsigned *)(void *)(cq + about.cq_off.head);
	ring->cq_tail = (unsigned *)(void *)(cq + about.cq_off.tail);
	ring->cq_mask = (unsigned *)(void *)(cq + about.cq_off.ring_mask);
	ring->done = (struct ring_done *)(void *)(cq + about.cq_off.cqes);
	return (int)syscall(SYS_io_uring_register, ring->descriptor, REGISTER_BUFFERS, &one, 1);
}

/* What the read gave. */
static UNUSED int ring_read_fixed(struct ring *ring, int file, void *to, unsigned length)
{
	unsigned tail = *ring->sq_tail, at = tail & *ring->sq_mask, head;
	struct ring_entry *entry = &ring->entry[at];
	int result;

	memset(entry, 0, sizeof *entry);
	entry->opcode = READ_FIXED;
	entry->fd = file;
	entry->addr = (uint64_t)(uintptr_t)to;
	entry->len = length;
	ring->sq_array[at] = at;
	__atomic_store_n(ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
	while (syscall(SYS_io_uring_enter, ring->descriptor, 1, 1, GET_EVENTS, NULL, 0) < 0)
		CHECK(errno == EINTR);
	head = *ring->cq_head;
	/* A signal may have ended the wait of what was submitted. */
	while (head == __atomic_load_n(ring->cq_tail, __ATOMIC_ACQUIRE))
		if (syscall(SYS_io_uring_enter, ring->descriptor, 0, 1, GET_EVENTS, NULL, 0) < 0)
			CHECK(errno == EINTR);
	result = ring->done[head & *ring->cq_mask].res;
	__atomic_store_n(ring->cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}

#endif
