/* Blocks that cross the border between two mallocs: a plugin loaded with
   RTLD_DEEPBIND has libc's own. Built twice: as the plugin with -DPLUGIN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLUGIN
char *give(void)
{
	char *p = malloc(5000);

	memset(p, 'x', 5000);
	return p;
}
#else
int main(int argc, char **argv)
{
	void *plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_DEEPBIND);
	char *(*give)(void) = plugin ? (char *(*)(void))dlsym(plugin, "give") : NULL;
	int i, k;

	if (!give) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	for (i = 0; i < 1000; i++) {
		char *p = give(), *q;

		if (malloc_usable_size(p) < 5000)
			return 4;
		q = realloc(give(), 50000);
		for (k = 0; k < 5000; k++)
			if (p[k] != 'x' || q[k] != 'x')
				return 5;
		free(p);
		free(q);
	}
	puts("ok");
	return 0;
}
#endif
