/* Tests a heap and forks under the libraries on another architecture. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 2000, SIZE = 20000 };
static unsigned char *blocks[BLOCKS];

static int holds(int size)
{
    for (int i = 0; i < BLOCKS; i++)
        for (int at = 0; at < size; at += 997)
            if (blocks[i][at] != (unsigned char)i) return 0;
    return 1;
}

int main(void)
{
    const char *library = getenv("LD_PRELOAD");
    Dl_info info;
    if (!library || !dlsym(RTLD_DEFAULT, "__hugetools_library")) return puts("no library"), 1;
    void *theirs = dlsym(RTLD_DEFAULT, "malloc");
    if (strstr(library, "_heap") && (!dladdr(theirs, &info) || strcmp(info.dli_fname, library)))
        return puts("another malloc"), 1;
    for (int i = 0; i < BLOCKS; i++) memset(blocks[i] = malloc(SIZE), i, SIZE);
    for (int round = 0; round < 3; round++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            int held = holds(SIZE);
            for (int i = 0; i < BLOCKS; i++) memset(blocks[i], 255, SIZE);
            _exit(held ? 0 : 1);
        }
        if (waitpid(child, &status, 0) != child || status != 0) return puts("the child"), 1;
        if (!holds(SIZE)) return puts("the parent"), 1;
    }
    for (int i = 0; i < BLOCKS; i++) blocks[i] = realloc(blocks[i], 2 * SIZE);
    if (!holds(SIZE)) return puts("grown blocks"), 1;
    for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    return 0;
}
