/* Calls all functions of libhugetlbfs. Every library with this interface prints the same.
 *
 * api SCENE [ARGUMENT] */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <hugetlbfs.h>

static long page;

static const char *yes(int really)
{
    return really ? "yes" : "no";
}

/* Returns the page size of the mapping at an address; 0 for none. */
static long page_at(const void *where)
{
    char line[512];
    unsigned long start, end, kb, at = (unsigned long)where;
    long found = 0;
    int inside = 0;
    FILE *file = fopen("/proc/self/smaps", "r");

    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = start <= at && at < end;
        else if (inside && sscanf(line, "KernelPageSize: %lu kB", &kb) == 1)
            found = (long)kb << 10;
    }
    fclose(file);
    return found;
}

static const char *kind(const void *where)
{
    long found = page_at(where);

    return !found ? "nothing" : found == page ? "huge pages" : found == getpagesize() ? "base pages" : "other pages";
}

/* Returns the free pages of the default size that are not reserved. */
static long unused(void)
{
    static const char *const names[2] = { "free", "resv" };
    long counts[2] = { 0, 0 };

    for (int i = 0; i < 2; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%ldkB/%s_hugepages", page >> 10, names[i]);
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%ld", &counts[i]) != 1)
            counts[i] = -1;
        if (file)
            fclose(file);
    }
    return counts[0] - counts[1];
}

static void list(const char *name, int (*function)(long *, int), long *sizes, int room)
{
    errno = 111;
    int count = function(sizes, room);
    printf("%s(%s, %d) = %d errno %d:", name, sizes ? "sizes" : "NULL", room, count, errno);
    for (int i = 0; sizes && i < count && i < room; i++)
        printf(" %ld", sizes[i]);
    printf("\n");
}

static void sizes(void)
{
    long all[16];

    errno = 111;
    long size = gethugepagesize();
    printf("gethugepagesize() = %ld errno %d\n", size, errno);
    static const int rooms[] = { 16, 2, 1, 0, -1 };
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        list("gethugepagesizes", gethugepagesizes, all, rooms[i]);
        list("getpagesizes", getpagesizes, all, rooms[i]);
    }
    for (int room = -1; room < 2; room++) {
        list("gethugepagesizes", gethugepagesizes, NULL, room);
        list("getpagesizes", getpagesizes, NULL, room);
    }
}

static const char *or_null(const char *path)
{
    return path ? path : "NULL";
}

static void paths(const char *mount)
{
    const char *const tests[] = { "/", "/proc/self/exe", "/no/such/path", mount ? mount : "/dev" };

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        errno = 0;
        int result = hugetlbfs_test_path(tests[i]);
        printf("hugetlbfs_test_path(%s) = %d %s\n", tests[i], result, result < 0 ? strerror(errno) : "");
    }
    printf("hugetlbfs_find_path() = %s\n", or_null(hugetlbfs_find_path()));
    static const long sizes[] = { 64 << 10, 1 << 20, 2 << 20, 16 << 20, 32 << 20, 1 << 30, 0, -1, 12345 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        printf("hugetlbfs_find_path_for_size(%ld) = %s\n", sizes[i], or_null(hugetlbfs_find_path_for_size(sizes[i])));
    printf("the same pointer each time: %s\n", yes(hugetlbfs_find_path() == hugetlbfs_find_path()));
}

static void one_file(const char *name, int fd)
{
    struct stat state;
    struct statfs system;

    if (fd < 0 || fstat(fd, &state) || fstatfs(fd, &system)) {
        printf("%s: none\n", name);
        return;
    }
    printf("%s: hugetlbfs %s, pages of %ld, length %ld, names %ld, ", name, yes(system.f_type == HUGETLBFS_MAGIC),
           (long)system.f_bsize, (long)state.st_size, (long)state.st_nlink);
    printf("mode %o, writable %s, inherited %s\n", state.st_mode & 0777, yes((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR),
           yes(!(fcntl(fd, F_GETFD) & FD_CLOEXEC)));
    long free = unused();
    char *memory = free > 0 ? mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (memory != MAP_FAILED) {
        memory[page - 1] = 5;
        printf("%s: mapped on %s, now %ld bytes long\n", name, kind(memory), fstat(fd, &state) ? -1 : (long)state.st_size);
        munmap(memory, page);
    }
    close(fd);
    printf("%s: the pool is as before: %s\n", name, yes(unused() == free));
}

static void files(void)
{
    one_file("hugetlbfs_unlinked_fd", hugetlbfs_unlinked_fd());
    one_file("hugetlbfs_unlinked_fd_for_size", hugetlbfs_unlinked_fd_for_size(page));
    one_file("hugetlbfs_unlinked_fd_for_size(12345)", hugetlbfs_unlinked_fd_for_size(12345));
}

/* Fills memory and reads it back. */
static int holds(void *memory, size_t len, int seed)
{
    uint32_t *words = memory;
    size_t count = len / sizeof *words, wrong = 0;

    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)i * 2654435761u + seed;
    for (size_t i = 0; i < count; i++)
        wrong += words[i] != (uint32_t)i * 2654435761u + seed;
    return wrong == 0;
}

static void take(size_t count, ghp_t flags)
{
    long before = unused();
    errno = 0;
    char *memory = get_huge_pages(count * page, flags);

    if (!memory) {
        printf("get_huge_pages(%zu pages, %lx) = NULL %s\n", count, flags, strerror(errno));
        return;
    }
    int zero = 1;
    for (size_t i = 0; i < count * page; i += 512)
        zero &= !memory[i];
    printf("get_huge_pages(%zu pages, %lx): %s, aligned %s, zero %s", count, flags, kind(memory),
           yes((uintptr_t)memory % page == 0), yes(zero));
    printf(", holds %s, taken %ld", yes(holds(memory, count * page, 1)), before - unused());
    free_huge_pages(memory);
    printf(", then %s, all back %s\n", kind(memory), yes(unused() == before));
}

static void pages(void)
{
    for (int round = 0; round < 3; round++)
        take(1, GHP_DEFAULT);
    take(3, GHP_DEFAULT);
    take(2, 0);
    take(100000, GHP_DEFAULT);
    take(0, GHP_DEFAULT);
    void *several[3];
    long before = unused();
    for (int i = 0; i < 3; i++)
        several[i] = get_huge_pages(page, GHP_DEFAULT);
    for (int i = 0; i < 3; i++) {
        if (several[i])
            free_huge_pages(several[i]);
        for (int j = i + 1; j < 3; j++)
            if (several[j] && !holds(several[j], page, j))
                printf("one took the other with it\n");
    }
    printf("three at once: all back %s\n", yes(unused() == before));
}

static void region(size_t len, ghr_t flags)
{
    long before = unused();
    size_t unit = page;
    int moved = 0, outside = 0, odd = 0, wrong = 0, failed = 0;
    const char *where = "";

    for (int round = 0; round < 24; round++) {
        char *memory = get_hugepage_region(len, flags);
        if (!memory) {
            failed++;
            continue;
        }
        where = kind(memory);
        unit = page_at(memory);
        size_t offset = (uintptr_t)memory % unit, spare = (unit - len % unit) % unit;
        moved += offset != 0;
        outside += offset != 0 && offset >= spare;
        odd += offset % 16 != 0;
        wrong += !holds(memory, len, round) || page_at(memory + len - 1) != (long)unit;
        free_hugepage_region(memory);
        if (unused() != before)
            printf("pages are missing\n");
    }
    printf("get_hugepage_region(%zu, %lx): failed %d, on %s, moved %s", len, flags, failed, where, yes(moved > 0));
    printf(", outside %d, odd %d, wrong %d, all back %s\n", outside, odd, wrong, yes(unused() == before));
}

static void regions(void)
{
    static const ghr_t flags[] = { GHR_STRICT, GHR_FALLBACK, GHR_COLOR, GHR_DEFAULT };
    const size_t lens[] = { 100, page - 64, page, page + page / 2 + 100 };

    for (size_t i = 0; i < sizeof lens / sizeof *lens; i++)
        for (size_t j = 0; j < sizeof flags / sizeof *flags; j++)
            /* libhugetlbfs crashes if a strict and coloured request fails. */
            if (unused() > 3 || !(flags[j] & GHR_COLOR) || flags[j] & GHR_FALLBACK)
                region(lens[i], flags[j]);
    errno = 0;
    void *none = get_hugepage_region(100000ul * page, GHR_STRICT);
    printf("get_hugepage_region(too much, strict) = %s\n", none ? "memory" : "NULL");
    errno = 0;
    none = get_hugepage_region(0, GHR_STRICT);
    printf("get_hugepage_region(0, strict) = %s %s\n", none ? "memory" : "NULL", strerror(errno));
}

static void *use_regions(void *result)
{
    for (int round = 0; round < 100; round++) {
        char *memory = get_hugepage_region(page / 2 + round, GHR_DEFAULT);
        if (!memory || !holds(memory, page / 2 + round, round))
            *(int *)result = 1;
        free_hugepage_region(memory);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[4];
    int wrong[4] = { 0, 0, 0, 0 };
    long before = unused();

    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, use_regions, &wrong[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    printf("four threads: wrong %d, all back %s\n", wrong[0] + wrong[1] + wrong[2] + wrong[3], yes(unused() == before));
}

static void shared(void)
{
    int id = shmget(IPC_PRIVATE, 2 * page, IPC_CREAT | 0600);
    struct shmid_ds state;
    char *memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

    if (memory == (void *)-1 || shmctl(id, IPC_STAT, &state) || shmctl(id, IPC_RMID, NULL)) {
        printf("shmget: %s\n", strerror(errno));
        return;
    }
    printf("shmget: %s, %zu bytes, holds %s\n", kind(memory), (size_t)state.shm_segsz, yes(holds(memory, 2 * page, 9)));
    shmdt(memory);
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "";

    setvbuf(stdout, NULL, _IOLBF, 0);
    page = gethugepagesize();
    if (!strcmp(scene, "sizes"))
        sizes();
    else if (!strcmp(scene, "paths"))
        paths(argc > 2 ? argv[2] : NULL);
    else if (!strcmp(scene, "files"))
        files();
    else if (!strcmp(scene, "pages"))
        pages();
    else if (!strcmp(scene, "regions"))
        regions();
    else if (!strcmp(scene, "threads"))
        threads();
    else if (!strcmp(scene, "shared"))
        shared();
    else if (!strcmp(scene, "secure"))
        printf("secure %lu, size %ld\n", getauxval(AT_SECURE), page);
    else
        return 2;
    return 0;
}
