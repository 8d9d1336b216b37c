/* A program and a plugin exchange blocks. Built as the plugin with -DPLUGIN, as a library that
   loads it by its own RUNPATH with -DCALLER, and as the program:
   plugins deep|lazy PATH, or plugins runpath. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLUGIN
static char *early;

__attribute__((constructor)) static void begin(void)
{
	early = strdup("made before dlopen returned");
	early = realloc(early, 70000);
	free(calloc(100, 100));
}

/* The program has a function of the same name. */
const char *whose(void)
{
	return "the plugin's";
}

const char *ask(void)
{
	return whose();
}

char *give(size_t n)
{
	return memset(malloc(n), 'g', n);
}

char *give_early(void)
{
	char *p = early;

	early = NULL;
	return p;
}

char *grow(char *p, size_t n)
{
	return realloc(p, n);
}

size_t usable(char *p)
{
	return malloc_usable_size(p);
}

void take(char *p)
{
	free(p);
}

/* libc reallocates the block. */
char *line(char *p, size_t n)
{
	FILE *f = fopen("/proc/self/maps", "r");

	if (!f || getline(&p, &n, f) < 0)
		abort();
	fclose(f);
	return p;
}
#elif defined(CALLER)
void *load(void)
{
	void *plugin = dlopen("libplugins-plugin.so", RTLD_NOW | RTLD_DEEPBIND);

	/* Prevents a tail call, which would make the program the caller. */
	__asm__ volatile("" : "+r"(plugin));
	return plugin;
}
#else
const char *whose(void)
{
	return "the program's";
}

static void *function(void *plugin, const char *name)
{
	void *found = dlsym(plugin, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(3);
	}
	return found;
}

#define IN(plugin, type, name) ((type)function(plugin, #name))

static int holds(const char *p, size_t n, char c)
{
	while (n--)
		if (p[n] != c)
			return 0;
	return 1;
}

static void exchange(void *plugin)
{
	static const size_t sizes[] = { 1, 24, 100, 5000, 40000, 300000, 3000000 };
	unsigned int i, k;

	for (i = 0; i < 210; i++) {
		size_t n = sizes[i % 7];
		char *p = IN(plugin, char *(*)(size_t), give)(n), *mine[3];

		if (malloc_usable_size(p) < n || !holds(p, n, 'g'))
			exit(4);
		p = realloc(p, 2 * n);
		if (!holds(p, n, 'g'))
			exit(5);
		IN(plugin, void (*)(char *), take)(p);
		free(IN(plugin, char *(*)(size_t), give)(n));
		for (k = 0; k < 3; k++)
			mine[k] = memset(malloc(n), 'm', n);
		if (IN(plugin, size_t (*)(char *), usable)(mine[0]) < n)
			exit(6);
		IN(plugin, void (*)(char *), take)(mine[0]);
		mine[1] = IN(plugin, char *(*)(char *, size_t), grow)(mine[1], 3 * n);
		if (!holds(mine[1], n, 'm'))
			exit(7);
		free(mine[1]);
		mine[2] = IN(plugin, char *(*)(char *, size_t), line)(mine[2], n);
		if (!strchr(mine[2], '\n'))
			exit(8);
		free(mine[2]);
	}
	free(IN(plugin, char *(*)(void), give_early)());
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	const char *path = argc > 2 ? argv[2] : "";
	int deep = RTLD_NOW | RTLD_DEEPBIND;
	void *plugin = NULL;

	if (!strcmp(how, "deep"))
		plugin = dlopen(path, deep);
	else if (!strcmp(how, "lazy"))
		plugin = dlopen(path, RTLD_LAZY | RTLD_DEEPBIND);
#ifdef RUNPATH
	else if (!strcmp(how, "runpath")) {
		extern void *load(void);

		plugin = load();
	}
#endif
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	exchange(plugin);
	puts(IN(plugin, const char *(*)(void), ask)());
	dlclose(plugin);
	return 0;
}
#endif
