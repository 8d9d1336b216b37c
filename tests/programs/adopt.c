/* adopt KIND MIB: fills memory, prints "ready", and at the end of input "same" or "changed". */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t len;

static void *map(int kind) {
    void *at = mmap(0, len, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(9);
    return at;
}

/* Each word hashes its index. */
static void fill(uint64_t *at, size_t from, size_t to, size_t step) {
    for (size_t i = from / 8; i < to / 8; i += step)
        at[i] = i * 0x9e3779b97f4a7c15;
}

static int same(const uint64_t *at, size_t from, size_t to, size_t step) {
    for (size_t i = from / 8; i < to / 8; i += step)
        if (at[i] != i * 0x9e3779b97f4a7c15)
            return 0;
    return 1;
}

static int ended(int milliseconds) {
    struct pollfd in = {.fd = 0, .events = POLLIN};
    return poll(&in, 1, milliseconds) > 0;
}

static void ready(void) {
    puts("ready");
    fflush(stdout);
}

static int finish(int is_same) {
    puts(is_same ? "same" : "changed");
    fflush(stdout);
    return !is_same;
}

static int changed;

/* Maps, fills, drops, protects and unmaps; every fourth call forks, too. */
static void remap_once(unsigned n) {
    size_t part = len / 8;
    char *at = map(MAP_PRIVATE);
    fill((uint64_t *)at, 0, len, 1);
    madvise(at + part + 4096 * (n % 7), part, MADV_DONTNEED);
    mprotect(at + 3 * part + 4096, part / 2, PROT_READ);
    munmap(at + 5 * part + 8192, part);
    if (n % 4 == 0) {
        pid_t child = fork();
        if (child == 0)
            _exit(!same((uint64_t *)at, 0, part, 1));
        int status = 0;
        if (waitpid(child, &status, 0) != child || status)
            changed = 1;
    }
    changed |= !same((uint64_t *)at, 0, part, 1);
    changed |= !same((uint64_t *)at, 3 * part, 5 * part, 1);
    munmap(at, len);
}

static int remaps(const char *kind, char **argv) {
    ready();
    unsigned most = strcmp(kind, "remaps") ? 12 : -1u;
    for (unsigned n = 0; n < most && !ended(0); n++)
        remap_once(n);
    if (!strcmp(kind, "executes")) {
        execl(argv[0], argv[0], "ends", argv[2], (char *)0);
        return 8;
    }
    return finish(!changed);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 7;
    const char *kind = argv[1];
    len = (size_t)atoi(argv[2]) << 20;
    if (!strcmp(kind, "remaps") || !strcmp(kind, "executes") || !strcmp(kind, "ends"))
        return remaps(kind, argv);
    if (!strcmp(kind, "off") && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
        return 6;
    uint64_t *at = map(!strcmp(kind, "shared") ? MAP_SHARED : MAP_PRIVATE);
    if (!strcmp(kind, "declined"))
        madvise(at, len, MADV_NOHUGEPAGE);
    /* sparse: one page of 16. */
    size_t step = strcmp(kind, "sparse") ? 1 : 8192;
    if (!strcmp(kind, "zeros")) {
        /* Reads only: the kernel maps its zero page. */
        for (size_t i = 0; i < len / 8; i += 512)
            changed |= at[i] != 0;
        ready();
        while (!ended(1000))
            ;
        return finish(!changed);
    }
    fill(at, 0, len, step);
    pid_t child = 0;
    if (!strcmp(kind, "forked") && (child = fork()) == 0) {
        char c;
        while (read(0, &c, 1) > 0)
            ;
        _exit(!same(at, 0, len, step));
    }
    ready();
    while (!ended(1000))
        ;
    int status = 0;
    if (child && (waitpid(child, &status, 0) != child || status))
        return finish(0);
    return finish(same(at, 0, len, step));
}
