/* Under the libraries of another machine: a heap, whether it is theirs, forks, a coroutine
 * with more arguments than registers, and a libc in a namespace of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
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

/* Whether a libc in a namespace of its own takes a block of this one's: by a call of
 * its own realloc, from inside. */
static int passes_to_another_libc(void)
{
    Dl_info here;
    if (!dladdr(dlsym(RTLD_DEFAULT, "getline"), &here)) return 0;
    void *libc = dlmopen(LM_ID_NEWLM, here.dli_fname, RTLD_NOW);
    if (!libc) return 0;
    FILE *(*open)(const char *, const char *) = dlsym(libc, "fopen");
    ssize_t (*read)(char **, size_t *, FILE *) = dlsym(libc, "getline");
    size_t room = 2;
    char *line = malloc(room);
    FILE *file = open("/proc/self/maps", "r");
    if (!file || read(&line, &room, file) < 20 || room < 20) return 0;
    free(line);
    return 1;
}

static ucontext_t outer, inner;
static int passed;

static void twelve(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l)
{
    int got[] = {a, b, c, d, e, f, g, h, i, j, k, l};
    for (int n = 0; n < 12; n++) passed += got[n] == -1000 * (n + 1);
}

/* Whether all that is given to makecontext, which is theirs, comes to the coroutine. */
static int passes_arguments(void)
{
    Dl_info info;
    if (!dladdr(dlsym(RTLD_DEFAULT, "makecontext"), &info) || strcmp(info.dli_fname, getenv("LD_PRELOAD")))
        return 0;
    void *stack = malloc(1 << 18);
    if (!stack || getcontext(&inner)) return 0;
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = 1 << 18;
    inner.uc_link = &outer;
    makecontext(&inner, (void (*)(void))twelve, 12, -1000, -2000, -3000, -4000, -5000, -6000, -7000, -8000,
                -9000, -10000, -11000, -12000);
    return !swapcontext(&outer, &inner) && passed == 12;
}

int main(void)
{
    const char *library = getenv("LD_PRELOAD");
    Dl_info info;
    if (!library || !dlsym(RTLD_DEFAULT, "__hugetools_library")) return puts("no library"), 1;
    void *theirs = dlsym(RTLD_DEFAULT, "malloc");
    if (strstr(library, "_heap") && (!dladdr(theirs, &info) || strcmp(info.dli_fname, library)))
        return puts("another malloc"), 1;
    if (strstr(library, "_heap") && !passes_to_another_libc()) return puts("another libc"), 1;
    if (!passes_arguments()) return puts("a coroutine"), 1;
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
