/* A library that is closed and loaded again, elsewhere, has functions that libc has not and
   ours stand before: those of the library that is there are called. The argument is its
   path. First there is one thread, then another, then a child calls them. Libraries of
   libaio are such. */
#ifdef LIBRARY
int io_setup(int most, void **context);
int io_getevents(void *context, long least, long most, void *events, void *time);
int work(void);

int io_setup(int most, void **context)
{
	*context = (void *)1;
	return most;
}

int io_getevents(void *context, long least, long most, void *events, void *time)
{
	(void)events, (void)time;
	return context == (void *)1 ? (int)(least + most) : -1;
}

int work(void)
{
	void *context = 0;

	return io_setup(7, &context) + io_getevents(context, 10, 20, 0, 0);
}
#else
#include "contract.h"

static void *idle(void *way)
{
	pause();
	return way;
}

static void use(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*work)(void);
	size_t at;

	CHECK(library);
	work = (int (*)(void))(size_t)dlsym(library, "work");
	CHECK(work && work() == 37);
	CHECK(!dlclose(library));
	/* The place is taken. */
	for (at = 0; at < 40; at++)
		CHECK(mmap(NULL, 4096 * (1 + at % 8), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

int main(int count, char **words)
{
	pthread_t thread;
	pid_t child;
	int status;

	CHECK(count == 2);
	use(words[1]);
	use(words[1]);
	CHECK(!pthread_create(&thread, NULL, idle, NULL));
	use(words[1]);
	use(words[1]);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		use(words[1]);
		use(words[1]);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	right();
}
#endif
