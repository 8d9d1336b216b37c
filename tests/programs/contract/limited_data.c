/* A thread limits the memory that can be written (RLIMIT_DATA) for a while, when a child
   that nobody has seen come shares the heap and nothing is left of the pool: what is
   written must move off it meanwhile. Argument: for how many milliseconds. */
#include "contract.h"
#include "unseen.h"
#include <sys/resource.h>

static volatile int limited;
static int duration;

static void *limit(void *argument)
{
	struct rlimit own, least;

	CHECK(!getrlimit(RLIMIT_DATA, &own));
	least = own;
	least.rlim_cur = 4096;
	CHECK(!setrlimit(RLIMIT_DATA, &least));
	limited = 1;
	usleep(duration * 1000);
	CHECK(!getrlimit(RLIMIT_DATA, &least));
	if (least.rlim_cur != 4096)
		fail("the limit has become %lu", (unsigned long)least.rlim_cur);
	CHECK(!setrlimit(RLIMIT_DATA, &own));
	return argument;
}

int main(int argc, char **argv)
{
	pid_t child;
	pthread_t other;

	duration = number(argc, argv, 1, 400);
	fill_heap(64);
	child = unseen_child();
	use_up_pool();
	other = start(limit, NULL);
	while (!limited)
		;
	write_heap();
	check_heap("parent");
	CHECK(!pthread_join(other, NULL));
	end_unseen(child);
	right();
}
