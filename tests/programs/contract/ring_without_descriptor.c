/* A ring of io_uring whose descriptor was registered with it and closed, as liburing's
   io_uring_close_ring_fd does: what it reads past the cache into the heap, while the
   program forks, arrives. */
#include "contract.h"
#include "ring.h"
#include <fcntl.h>

enum { COUNT = 60, READ = 22, REGISTER_RINGS = 20, RING_IS_REGISTERED = 16 };
#define LENGTH (MIB - 8192)

struct registered {
	uint32_t offset, kept;
	uint64_t data;
};

static char *place(int block)
{
	return (char *)(((uintptr_t)heap_blocks[block] + 4095) & ~(uintptr_t)4095);
}

/* A file past the cache; -1 where the file system has none. */
static int file_of_as(void)
{
	static char data[LENGTH];
	char name[] = "/tmp/contract-XXXXXX";
	int i, file = mkstemp(name);

	CHECK(file >= 0);
	memset(data, 'a', LENGTH);
	for (i = 0; i < COUNT; i++)
		CHECK(pwrite(file, data, LENGTH, (off_t)i * (off_t)MIB) == (ssize_t)LENGTH);
	CHECK(!fsync(file) && !close(file));
	file = open(name, O_RDONLY | O_DIRECT);
	unlink(name);
	return file;
}

int main(void)
{
	struct ring_params about;
	struct registered one = {(uint32_t)-1, 0, 0};
	struct ring_entry *entries;
	unsigned *array, *done;
	int i, file, ring, number_of_it;
	char *sq, *cq;
	size_t size, k;
	pid_t child;

	fill_heap(COUNT);
	memset(&about, 0, sizeof about);
	ring = (int)syscall(SYS_io_uring_setup, 64, &about);
	file = file_of_as();
	if (ring < 0 || file < 0)
		right();
	size = about.sq_off.array + about.sq_entries * sizeof(unsigned);
	sq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, PLACE_OF_SQ);
	size = about.cq_off.cqes + about.cq_entries * sizeof(struct ring_done);
	cq = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, PLACE_OF_CQ);
	size = about.sq_entries * sizeof(struct ring_entry);
	entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, PLACE_OF_ENTRIES);
	CHECK(sq != MAP_FAILED && cq != MAP_FAILED && entries != MAP_FAILED);
	one.data = (uint64_t)ring;
	/* Since Linux 5.18. */
	if (syscall(SYS_io_uring_register, ring, REGISTER_RINGS, &one, 1) != 1)
		right();
	number_of_it = (int)one.offset;
	close(ring);
	array = (unsigned *)(void *)(sq + about.sq_off.array);
	done = (unsigned *)(void *)(cq + about.cq_off.tail);
	for (i = 0; i < COUNT; i++) {
		memset(&entries[i], 0, sizeof entries[i]);
		entries[i].opcode = READ;
		entries[i].fd = file;
		entries[i].off = (uint64_t)i * MIB;
		entries[i].addr = (uintptr_t)place(i);
		entries[i].len = LENGTH;
		array[i] = (unsigned)i;
	}
	__atomic_store_n((unsigned *)(void *)(sq + about.sq_off.tail), COUNT, __ATOMIC_RELEASE);
	CHECK(syscall(SYS_io_uring_enter, number_of_it, COUNT, 0, RING_IS_REGISTERED, NULL, 0) == COUNT);
	child = fork();
	if (!child)
		_exit(0);
	while (__atomic_load_n(done, __ATOMIC_ACQUIRE) < COUNT)
		syscall(SYS_io_uring_enter, number_of_it, 0, COUNT, RING_IS_REGISTERED | GET_EVENTS, NULL, 0);
	if (child > 0)
		wait_for(child, "fork");
	for (i = 0; i < COUNT; i++)
		for (k = 0; k < LENGTH; k += 512)
			if (place(i)[k] != 'a')
				fail("byte %zu of block %d has not arrived", k, i);
	right();
}
