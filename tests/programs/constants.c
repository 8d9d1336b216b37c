/* Constants of <hugetlbfs.h>, and the type of each function. Also valid C++. */
#include <stddef.h>
#include <stdio.h>

#include <hugetlbfs.h>

long (*size)(void) = gethugepagesize;
int (*sizes[])(long *, int) = { gethugepagesizes, getpagesizes };
int (*test)(const char *) = hugetlbfs_test_path;
const char *(*path)(void) = hugetlbfs_find_path;
const char *(*path_for_size)(long) = hugetlbfs_find_path_for_size;
int (*file)(void) = hugetlbfs_unlinked_fd;
int (*file_for_size)(long) = hugetlbfs_unlinked_fd_for_size;
void *(*pages)(size_t, ghp_t) = get_huge_pages;
void *(*region)(size_t, ghr_t) = get_hugepage_region;
void (*frees[])(void *) = { free_huge_pages, free_hugepage_region };

int main(void)
{
    printf("HUGETLBFS_MAGIC %lx\n", (unsigned long)HUGETLBFS_MAGIC);
    printf("PF_LINUX_HUGETLB %lx\n", (unsigned long)PF_LINUX_HUGETLB);
    printf("GHP_DEFAULT %lx GHP_MASK %lx, %u bytes\n", GHP_DEFAULT, GHP_MASK, (unsigned)sizeof(ghp_t));
    printf("GHR_STRICT %lx GHR_FALLBACK %lx GHR_COLOR %lx", GHR_STRICT, GHR_FALLBACK, GHR_COLOR);
    printf(" GHR_DEFAULT %lx GHR_MASK %lx, %u bytes\n", GHR_DEFAULT, GHR_MASK, (unsigned)sizeof(ghr_t));
    return 0;
}
