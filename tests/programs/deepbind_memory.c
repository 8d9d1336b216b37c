/* A library opened with RTLD_DEEPBIND calls mmap, mprotect, madvise and munmap on the
   program's memory. Built as the library with -DPLUGIN, and as the program.

   deepbind_memory LIBRARY */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include "smaps.h"

#define PAGE 4096

#ifdef PLUGIN
static void say(const char *what, int result)
{
	printf("%s: %s\n", what, result ? strerrorname_np(errno) : "ok");
}

void on_block(char *p)
{
	say("mprotect", mprotect(p + 3 * PAGE, PAGE, PROT_READ));
	say("mprotect back", mprotect(p + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE));
	p[8 * PAGE] = 7;
	say("madvise", madvise(p + 8 * PAGE, PAGE, MADV_DONTNEED));
	printf("holds %d\n", p[8 * PAGE]);
}

void on_shared(char *p, size_t n)
{
	say("munmap of a page", munmap(p, PAGE));
	say("munmap of the rest", munmap(p + PAGE, n - PAGE));
}

char *take(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, n);
	return p;
}
#else
int main(int argc, char **argv)
{
	size_t n = 64 << 20;
	void *plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_DEEPBIND);
	void (*on_block)(char *) = plugin ? dlsym(plugin, "on_block") : NULL;
	void (*on_shared)(char *, size_t);
	char *(*take)(size_t), *p;

	if (!on_block) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	on_shared = dlsym(plugin, "on_shared");
	take = dlsym(plugin, "take");
	if (posix_memalign((void **)&p, PAGE, n))
		return 4;
	memset(p, 1, n);
	on_block(p);
	free(p);
	p = mmap(NULL, 3 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 3 << 20);
	on_shared(p, 3 << 20);
	p = take(n);
	fflush(stdout);
	fprintf(stderr, "huge_kb=%lu\n", read_range(p, n).thp);
	return 0;
}
#endif
