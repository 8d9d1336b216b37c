/* A program's own userfaultfd(2): what it has never touched is missing, one fault for each
   base page, and is filled by the page; what it has written stays. Arguments: what it
   watches, `shared`, `heap` or `mapped`. Prints what it was told of. */
#include "contract.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define PAGE 4096ul
#define SIZE (6 * MIB)
#define FILLED 0x5a

static int watcher;
static volatile int is_over, missing;
static char *at;

static void fill(unsigned long page)
{
	static char contents[PAGE] __attribute__((aligned(PAGE)));
	struct uffdio_copy copy = {.dst = page, .src = (unsigned long)contents, .len = PAGE};
	struct uffdio_zeropage zeros = {.range = {page, PAGE}};

	memset(contents, FILLED, PAGE);
	if ((page - (unsigned long)at) / PAGE % 2)
		CHECK(!ioctl(watcher, UFFDIO_COPY, &copy) || errno == EEXIST);
	else
		CHECK(!ioctl(watcher, UFFDIO_ZEROPAGE, &zeros) || errno == EEXIST);
}

static void *serve(void *argument)
{
	struct pollfd ready = {watcher, POLLIN, 0};
	struct uffd_msg message;

	while (!is_over)
		if (poll(&ready, 1, 20) > 0 &&
		    read(watcher, &message, sizeof message) == sizeof message) {
			CHECK(message.event == UFFD_EVENT_PAGEFAULT);
			missing++;
			fill(message.arg.pagefault.address & ~(PAGE - 1));
		}
	return argument;
}

static void *write_meanwhile(void *argument)
{
	volatile char *byte = argument;
	size_t writes;

	for (writes = 0; !is_over; writes++)
		byte[writes % (8 * PAGE)] = (char)(writes % 100);
	return argument;
}

static char *get_watched(const char *what)
{
	int flags = *what == 's' ? MAP_SHARED : MAP_PRIVATE;
	void *found;

	if (*what == 'h')
		return get_aligned(2 * MIB, SIZE);
	found = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	CHECK(found != MAP_FAILED);
	return found;
}

/* Watches from 512 KiB to the last page, which others are beside. */
static void watch(int again)
{
	struct uffdio_register range = {.range = {(unsigned long)at + MIB / 2, SIZE - MIB / 2 - PAGE},
					.mode = UFFDIO_REGISTER_MODE_MISSING};

	if (again)
		CHECK(!syscall(SYS_ioctl, watcher, UFFDIO_REGISTER, &range));
	else
		CHECK(!ioctl(watcher, UFFDIO_REGISTER, &range));
}

int main(int argc, char **argv)
{
	static const size_t written[] = {MIB / 2, 2 * MIB + 5 * PAGE, 4 * MIB - PAGE};
	struct uffdio_api api = {.api = UFFD_API};
	size_t k, pages = 0, zero = 0, filled = 0;
	pthread_t server, other;
	char *busy;

	fill_heap(48);
	watcher = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1 /* UFFD_USER_MODE_ONLY */);
	if (watcher < 0) {
		printf("no userfaultfd: %s\n", strerror(errno));
		return 0;
	}
	CHECK(!ioctl(watcher, UFFDIO_API, &api));
	busy = get(8 * PAGE);
	other = start(write_meanwhile, busy);
	CHECK(argc > 1);
	at = get_watched(argv[1]);
	for (k = 0; k < sizeof written / sizeof *written; k++)
		at[written[k] + 7] = 1;
	watch(0);
	server = start(serve, NULL);
	for (k = MIB / 2; k < SIZE - PAGE; k += PAGE, pages++) {
		zero += !at[k + 7];
		filled += at[k + 7] == FILLED;
	}
	CHECK(at[written[0] + 7] == 1 && at[written[1] + 7] == 1 && at[written[2] + 7] == 1);
	/* Of a block as much can be there as one huge page has, which nothing tells from what was
	   filled with zeros. */
	CHECK(zero + filled + 3 == pages && missing >= (int)(zero + filled) - 512);
	if (*argv[1] != 'h')
		printf("%d of %zu missing, %zu filled, %zu zero\n", missing, pages, filled, zero);
	/* What it is told of once it is not told of again. */
	watch(1);
	for (k = MIB / 2; k < SIZE - PAGE; k += PAGE)
		at[k + 8] = 2;
	if (*argv[1] != 'h')
		printf("%d missing\n", missing);
	is_over = 1;
	CHECK(!pthread_join(server, NULL) && !pthread_join(other, NULL));
	close(watcher);
	check_heap("all");
	puts("right");
	return 0;
}
