/* Stands before the functions of libhugetlbfs and those that open files, says
 * which are called on behalf of each, and passes the calls on. With a name in
 * REFUSE that function fails instead. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hugetlbfs.h>

static int depth;

/* Without stdio, since some are called before there is any. */
static void said(const char *name, const char *what)
{
    char line[256];
    int len = snprintf(line, sizeof line, "%*s%s%s%s\n", 2 + 2 * depth, "", name, *what ? " " : "", what);

    if (write(1, line, len) != len)
        abort();
}

static int refused(const char *name)
{
    const char *names = getenv("REFUSE");

    return names && !strcmp(names, name);
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

#define BEFORE(type, name, parameters, arguments, refusal, what) \
    type name parameters                                         \
    {                                                            \
        said(#name, what);                                       \
        if (refused(#name))                                      \
            return refusal;                                      \
        type(*function) parameters = next(#name);                \
        depth++;                                                 \
        type result = function arguments;                        \
        depth--;                                                 \
        return result;                                           \
    }

BEFORE(long, gethugepagesize, (void), (), -1, "")
BEFORE(int, gethugepagesizes, (long sizes[], int n), (sizes, n), -1, "")
BEFORE(int, hugetlbfs_test_path, (const char *path), (path), 0, "")
BEFORE(const char *, hugetlbfs_find_path, (void), (), NULL, "")
BEFORE(const char *, hugetlbfs_find_path_for_size, (long size), (size), NULL, "")
BEFORE(int, hugetlbfs_unlinked_fd, (void), (), -1, "")
BEFORE(int, hugetlbfs_unlinked_fd_for_size, (long size), (size), -1, "")
BEFORE(void *, get_huge_pages, (size_t len, ghp_t flags), (len, flags), NULL, "")
BEFORE(void *, cachecolor, (void *start, size_t len, size_t room), (start, len, room), start, "")
BEFORE(void *, opendir, (const char *path), (path), NULL, path)

int open(const char *path, int flags, ...)
{
    int (*function)(const char *, int, ...) = next("open");

    said("open", path);
    return refused(path) ? (errno = EACCES, -1) : function(path, flags, 0600);
}

/* In no header: the tests of Debian's library call it. */
void __tp_kernel_default_hugepage_size_reset(void);

#define SHOW(call)                                       \
    do {                                                 \
        said("$", #call);                                \
        call;                                            \
    } while (0)

int main(void)
{
    long sizes[16];
    void *memory;

    SHOW(gethugepagesize());
    SHOW(gethugepagesizes(sizes, 16));
    SHOW(getpagesizes(sizes, 16));
    SHOW(hugetlbfs_find_path());
    SHOW(close(hugetlbfs_unlinked_fd()));
    SHOW(memory = get_huge_pages(gethugepagesize(), GHP_DEFAULT));
    SHOW(memory ? free_huge_pages(memory) : said("none", ""));
    SHOW(memory = get_hugepage_region(1000, GHR_DEFAULT));
    SHOW(memory ? free_hugepage_region(memory) : said("none", ""));
    SHOW(__tp_kernel_default_hugepage_size_reset());
    SHOW(gethugepagesize());
    return 0;
}
