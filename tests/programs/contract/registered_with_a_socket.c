/* A buffer that is registered with a socket of AF_XDP, to which a network device writes by
   page: it keeps its pages over a fork. The forms are the kernel's, written here since not
   every libc's compiler finds its headers. */
#include "contract.h"
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>

enum { FAMILY = 44, LEVEL = 283, REGISTER = 4 };

struct area {
	uint64_t addr, len;
	uint32_t chunk_size, headroom, flags, kept;
};

/* The number of the page behind an address, for root alone. */
static uint64_t frame_of(const void *address)
{
	int file = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0;

	CHECK(file >= 0);
	CHECK(pread(file, &entry, sizeof entry, (off_t)((uintptr_t)address / 4096 * 8)) == sizeof entry);
	close(file);
	return entry & (((uint64_t)1 << 55) - 1);
}

int main(void)
{
	struct area area;
	uint64_t before[2];
	char *buffer;
	pid_t child;
	int socket_of_it;

	fill_heap(60);
	buffer = get_aligned(4096, 4 * MIB);
	memset(buffer, 0, 4 * MIB);
	memset(&area, 0, sizeof area);
	area.addr = (uintptr_t)buffer;
	area.len = 4 * MIB;
	area.chunk_size = 4096;
	socket_of_it = socket(FAMILY, SOCK_RAW, 0);
	/* A kernel or a container without it: nothing to try. */
	if (socket_of_it < 0 || setsockopt(socket_of_it, LEVEL, REGISTER, &area, sizeof area))
		right();
	before[0] = frame_of(buffer);
	before[1] = frame_of(buffer + 2 * MIB);
	CHECK(before[0] && before[1]);
	child = fork();
	if (!child) {
		check_heap("child");
		memset(buffer, 'z', 4 * MIB);
		_exit(0);
	}
	/* It may be refused: without it nothing moves. */
	if (child > 0)
		wait_for(child, "fork");
	if (frame_of(buffer) != before[0] || frame_of(buffer + 2 * MIB) != before[1])
		fail("the device writes elsewhere than the program reads");
	check_heap("parent");
	right();
}
