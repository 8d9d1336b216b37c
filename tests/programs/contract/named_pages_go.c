/* Other threads give back huge pages that they have asked for by name, while this
   one forks and, for a buffer that is registered with io_uring, its child gets a copy
   of all pages. Arguments: other threads. */
#include "contract.h"
#include "ring.h"
#include <dlfcn.h>

static void *(*get_pages)(size_t, int);
static void (*free_pages)(void *);
static volatile int over;

/* In three ways. */
static void *give_back(void *argument)
{
	int i;

	for (i = 0; !over; i++) {
		char *pages = get_pages(4 * MIB, 0);

		if (!pages) {
			usleep(1000);
			continue;
		}
		memset(pages, 'g', 4 * MIB);
		usleep((unsigned)(i * 700 % 9000));
		if (i % 3 == 0) {
			CHECK(!mprotect(pages, 2 * MIB, PROT_NONE));
			usleep(200);
			CHECK(!mprotect(pages, 2 * MIB, PROT_READ | PROT_WRITE));
			CHECK(pages[0] == 'g' && pages[2 * MIB] == 'g');
		}
		if (i % 2)
			CHECK(!munmap(pages, 4 * MIB));
		else
			free_pages(pages);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int i, threads = number(argc, argv, 1, 2);
	char *buffer;
	struct ring ring;
	double end;

	get_pages = (void *(*)(size_t, int))dlsym(RTLD_DEFAULT, "get_huge_pages");
	free_pages = (void (*)(void *))dlsym(RTLD_DEFAULT, "free_huge_pages");
	fill_heap(60);
	buffer = get_aligned(4096, 65536);
	memset(buffer, 'b', 65536);
	if (ring_begin(&ring, buffer, 65536)) {
		/* A kernel or a container without it: nothing to try. */
		CHECK(errno == ENOSYS || errno == EPERM);
		right();
	}
	for (i = 0; get_pages && i < threads; i++)
		start(give_back, NULL);
	end = seconds() + span(2);
	do {
		pid_t child = fork();

		CHECK(child >= 0);
		if (!child) {
			check_heap("child");
			memset(buffer, 'c', 65536);
			_exit(0);
		}
		wait_for(child, "a fork");
		CHECK(buffer[0] == 'b' && buffer[65535] == 'b');
	} while (seconds() < end);
	over = 1;
	check_heap("parent");
	right();
}
