/* Does to memory of get_huge_pages and get_hugepage_region whatever a program
 * may do to its memory. Prints ok at the end; anything else is what was wrong.
 *
 *     granted MODE
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hugetlbfs.h>

static size_t page;

#define CHECK(what)                                                          \
    do {                                                                     \
        if (!(what)) {                                                       \
            printf("line %d: %s (errno %d)\n", __LINE__, #what, errno);      \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static char *pages(size_t count)
{
    char *memory = get_huge_pages(count * page, GHP_DEFAULT);

    CHECK(memory);
    for (size_t i = 0; i < count; i++)
        memory[i * page] = (char)(i + 1);
    return memory;
}

static int is_mapped(const void *where)
{
    unsigned char there;

    return mincore((void *)((uintptr_t)where & -(uintptr_t)getpagesize()), 1, &there) == 0;
}

/* Whole pages taken away, the rest freed by the first address. */
static void parts(void)
{
    char *memory = pages(4);

    CHECK(munmap(memory + page, page - 4096) == -1 && errno == EINVAL);
    CHECK(munmap(memory + page, page) == 0);
    CHECK(!is_mapped(memory + page) && memory[0] == 1 && memory[2 * page] == 3);
    CHECK(munmap(memory, page) == 0);
    free_huge_pages(memory);
    CHECK(!is_mapped(memory + 2 * page) && !is_mapped(memory + 3 * page));
    memory = pages(2);
    CHECK(munmap(memory, 2 * page) == 0);
    char *again = pages(2);
    free_huge_pages(again);
    CHECK(!is_mapped(again));
}

static void access_rights(void)
{
    char *memory = pages(3);

    CHECK(mprotect(memory, 2 * page, PROT_READ) == 0 && memory[page] == 2);
    CHECK(mprotect(memory, 4096, PROT_NONE) == -1 && errno == EINVAL);
    pid_t child = fork();
    if (child == 0) {
        CHECK(memory[0] == 1 && memory[page] == 2 && memory[2 * page] == 3);
        CHECK(mprotect(memory, 2 * page, PROT_READ | PROT_WRITE) == 0);
        memset(memory, 9, 3 * page);
        CHECK(memory[3 * page - 1] == 9);
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(mprotect(memory, 2 * page, PROT_READ | PROT_WRITE) == 0);
    memset(memory + 1, 8, page);
    CHECK(memory[0] == 1 && memory[page] == 8 && memory[2 * page] == 3);
    free_huge_pages(memory);
    CHECK(!is_mapped(memory));
}

static void advice(void)
{
    char *memory = pages(3);

    CHECK(madvise(memory + page, page, MADV_DONTNEED) == 0 && memory[page] == 0 && memory[0] == 1);
    memset(memory + page, 5, page);
    CHECK(madvise(memory, page, MADV_DONTFORK) == 0);
    pid_t child = fork();
    if (child == 0) {
        CHECK(!is_mapped(memory) && memory[page] == 5 && memory[2 * page] == 3);
        memset(memory + page, 6, 2 * page);
        free_huge_pages(memory);
        CHECK(!is_mapped(memory + page));
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(memory[0] == 1 && memory[page] == 5);
    CHECK(madvise(memory, page, MADV_DOFORK) == 0);
    free_huge_pages(memory);
    CHECK(!is_mapped(memory));
}

static void moves(void)
{
    char *memory = pages(4);

    CHECK(mremap(memory, 4 * page, 5 * page, 0) == MAP_FAILED);
    CHECK(mremap(memory, 4 * page, 3 * page, 0) == memory && !is_mapped(memory + 3 * page));
    char *place = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(place != MAP_FAILED);
    char *moved = mremap(memory, 3 * page, 3 * page, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    CHECK(moved == place && moved[0] == 1 && moved[2 * page] == 3 && !is_mapped(memory));
    CHECK(munmap(moved, 3 * page) == 0);
}

/* Other memory in the place of a page. */
static void replaced(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    char *memory = pages(3);
    char *other = mmap(memory + page, page, PROT_READ | PROT_WRITE, flags, -1, 0);

    CHECK(other == memory + page && other[0] == 0 && memory[0] == 1);
    other[0] = 77;
    free_huge_pages(memory);
    CHECK(!is_mapped(memory) && !is_mapped(memory + 2 * page) && other[0] == 77);
    CHECK(munmap(other, page) == 0);
}

/* What was handed out where there were no huge pages. */
static void fallback(void)
{
    char *memory = get_hugepage_region(20 * 4096 + 5, GHR_FALLBACK);

    CHECK(memory);
    memset(memory, 4, 20 * 4096 + 5);
    CHECK(munmap(memory + 4096, 4096) == 0 && mprotect(memory + 3 * 4096, 4096, PROT_NONE) == 0);
    free_hugepage_region(memory);
    CHECK(!is_mapped(memory) && !is_mapped(memory + 2 * 4096) && !is_mapped(memory + 20 * 4096));
    memory = get_hugepage_region(4096, GHR_FALLBACK);
    CHECK(memory);
    memory[0] = 6;
    char *larger = mremap(memory, 4096, 64 * 4096, MREMAP_MAYMOVE);
    CHECK(larger != MAP_FAILED && larger[0] == 6);
    larger[64 * 4096 - 1] = 1;
    free_hugepage_region(larger);
    CHECK(!is_mapped(larger) && !is_mapped(larger + 63 * 4096));
}

/* Pointers that were never handed out, or not any more. */
static void strays(void)
{
    static char variable;
    char *memory = pages(1), *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = hugetlbfs_unlinked_fd();

    CHECK(mine != MAP_FAILED && fd >= 0);
    char *file = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(file != MAP_FAILED && close(fd) == 0);
    file[0] = 1;
    errno = 33;
    free_huge_pages(file);
    CHECK(errno == 33 && !is_mapped(file));
    errno = 33;
    free_huge_pages(memory);
    free_huge_pages(memory);
    free_huge_pages(NULL);
    free_hugepage_region(NULL);
    free_huge_pages(mine);
    free_hugepage_region(mine + 64);
    free_huge_pages(&variable);
    CHECK(errno == 33);
    mine[0] = variable = 1;
    CHECK(munmap(mine, 4096) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        { "parts", parts }, { "access", access_rights }, { "advice", advice },     { "moves", moves },
        { "replaced", replaced }, { "fallback", fallback }, { "strays", strays },
    };

    page = (size_t)gethugepagesize();
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            printf("ok\n");
            return 0;
        }
    return 2;
}
