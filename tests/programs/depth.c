/* How far down the stack each function of the malloc family goes: the stack
 * below the caller is painted, the function called, and the lowest change
 * looked for. To be linked with -z now, so that the loader binds nothing then.
 *
 * "depth MIB": prints each call with the most that it took, in bytes, in the
 * first calls of a thread and while the heap grows to so many MiB.
 * "depth MIB prctl|syscall": the same in the main thread only, which first allows
 * itself, by that function, the system calls that libc's malloc makes, and to
 * write and to end. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 48 << 10, KINDS = 32, KEPT = 4096 };
static const uint64_t PAINT = 0x5ca1ab1edecade5aULL;

static struct { const char *name; size_t most; } kinds[KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What a call is given and gives. */
struct job { void *(*run)(struct job *); void *block; size_t size, align; };

static void note(const char *name, size_t depth)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (kinds[i].name && strcmp(kinds[i].name, name))
        i++;
    kinds[i].name = name;
    if (depth > kinds[i].most)
        kinds[i].most = depth;
    pthread_mutex_unlock(&lock);
}

/* Calls a job on a painted stack; how far below this frame it wrote. */
__attribute__((noinline)) static size_t deepest(struct job *job)
{
    volatile uint64_t *frame = __builtin_alloca(64);
    volatile uint64_t *bottom = frame - ROOM / 8;
    for (volatile uint64_t *at = bottom; at < frame - 32; at++)
        *at = PAINT;
    job->block = job->run(job);
    volatile uint64_t *at = bottom;
    while (at < frame && *at == PAINT)
        at++;
    return (size_t)((char *)frame - (char *)at);
}

static void *measure(const char *name, struct job job)
{
    note(name, deepest(&job));
    return job.block;
}

static void *do_malloc(struct job *j) { return malloc(j->size); }
static void *do_calloc(struct job *j) { return calloc(j->size, 1); }
static void *do_realloc(struct job *j) { return realloc(j->block, j->size); }
static void *do_free(struct job *j) { free(j->block); return NULL; }
static void *do_memalign(struct job *j) { return memalign(j->align, j->size); }
static void *do_aligned(struct job *j) { return aligned_alloc(j->align, j->size); }
static void *do_posix(struct job *j)
{
    void *block = NULL;
    return posix_memalign(&block, j->align, j->size) ? NULL : block;
}
static void *do_usable(struct job *j)
{
    j->size = malloc_usable_size(j->block);
    return j->block;
}
#ifdef __GLIBC__
static void *do_trim(struct job *j) { malloc_trim(0); return j->block; }
static void *do_mallopt(struct job *j) { mallopt(M_TOP_PAD, 1 << 20); return j->block; }
#endif

static void touch(char *block, size_t size)
{
    for (size_t at = 0; at < size; at += 4096)
        block[at] = 1;
}

/* Each function once for a size. */
static void each(size_t size)
{
    char *block = measure("malloc", (struct job){ do_malloc, NULL, size, 0 });
    touch(block, size);
    measure("malloc_usable_size", (struct job){ do_usable, block, 0, 0 });
    block = measure("realloc", (struct job){ do_realloc, block, size * 3 / 2 + 1, 0 });
    block = measure("realloc", (struct job){ do_realloc, block, size / 2 + 1, 0 });
    measure("free", (struct job){ do_free, block, 0, 0 });
    block = measure("calloc", (struct job){ do_calloc, NULL, size, 0 });
    measure("free", (struct job){ do_free, block, 0, 0 });
    for (size_t align = 16; align <= 4 << 20; align *= 64) {
        block = measure("memalign", (struct job){ do_memalign, NULL, size, align });
        measure("free", (struct job){ do_free, block, 0, 0 });
        block = measure("aligned_alloc", (struct job){ do_aligned, NULL, size, align });
        measure("free", (struct job){ do_free, block, 0, 0 });
        block = measure("posix_memalign", (struct job){ do_posix, NULL, size, align });
        measure("free", (struct job){ do_free, block, 0, 0 });
    }
}

static void every_size(void)
{
    for (size_t size = 1; size < 100u << 20; size = size * 5 / 2 + 3)
        each(size);
#ifdef __GLIBC__
    measure("malloc_trim", (struct job){ do_trim, NULL, 0, 0 });
    measure("mallopt", (struct job){ do_mallopt, NULL, 0, 0 });
#endif
}

/* Lets the heap grow with blocks of a size, and frees them. */
static void grow(size_t size, size_t bytes)
{
    size_t count = bytes / size;
    void **blocks = malloc(count * sizeof *blocks);
    for (size_t i = 0; i < count; i++) {
        blocks[i] = measure("malloc, growing", (struct job){ do_malloc, NULL, size, 0 });
        touch(blocks[i], size);
    }
    for (size_t i = 0; i < count; i++)
        measure("free, shrinking", (struct job){ do_free, blocks[i], 0, 0 });
    free(blocks);
}

static size_t mib = 64;

static void *first(void *size)
{
    void *block = measure("malloc, first of a thread", (struct job){ do_malloc, NULL, (size_t)size, 0 });
    measure("free, first of a thread", (struct job){ do_free, block, 0, 0 });
    return NULL;
}

static void *first_free(void *block)
{
    measure("free, first of a thread", (struct job){ do_free, block, 0, 0 });
    return NULL;
}

static void *all(void *unused)
{
    (void)unused;
    every_size();
    grow(200, mib << 18);
    grow(3000, mib << 18);
    grow(40000, mib << 18);
    grow(700000, mib << 20);
    return NULL;
}

static void in_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument))
        abort();
    pthread_join(thread, NULL);
}

static void run(void)
{
    for (size_t size = 8; size < 8 << 20; size *= 12) {
        in_thread(first, (void *)size);
        in_thread(first_free, malloc(size));
    }
    in_thread(all, NULL);
    all(NULL);
}

/* As linux/filter.h and linux/seccomp.h have them, which not every C library
 * finds. */
struct step { unsigned short code; unsigned char yes, no; unsigned value; };
struct steps { unsigned short count; struct step *first; };
enum { LOAD = 0x20, IF_EQUAL = 0x15, END = 0x06 };
#define PASS 0x7fff0000u
#define KILL 0x80000000u
#define ALLOW(call) { IF_EQUAL, 0, 1, SYS_##call }, { END, 0, 0, PASS }

static void confine(int by_number)
{
    struct step filter[] = {
        { LOAD, 0, 0, 0 },
        ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect), ALLOW(madvise),
        ALLOW(brk), ALLOW(futex), ALLOW(write), ALLOW(writev), ALLOW(exit_group),
        { END, 0, 0, KILL },
    };
    struct steps program = { sizeof filter / sizeof *filter, filter };
    int failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (by_number)
        failed |= syscall(SYS_seccomp, 1, 0, &program);
    else
        failed |= prctl(PR_SET_SECCOMP, 2, &program);
    if (failed)
        abort();
}

static void tell(const char *whose)
{
    for (int i = 0; kinds[i].name; i++)
        printf("%6zu %s%s\n", kinds[i].most, kinds[i].name, whose);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char buffer[BUFSIZ];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (argc > 1)
        mib = strtoul(argv[1], NULL, 10);
    if (argc > 2) {
        confine(!strcmp(argv[2], "syscall"));
        all(NULL);
        tell("");
        return 0;
    }
    run();
    pid_t child = fork();
    if (child == 0) {
        run();
        tell(", child");
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    run();
    tell("");
    return status != 0;
}
