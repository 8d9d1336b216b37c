/*
 * The C interface of libhugetlbfs. See get_huge_pages(3), gethugepagesizes(3),
 * hugetlbfs_find_path(3) and huge_next_touch(3).
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef HUGETLBFS_H
#define HUGETLBFS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* f_type of a hugetlbfs in statfs(2). */
#define HUGETLBFS_MAGIC 0x958458f6

/* Bit in p_flags that requests huge pages for a segment. */
#ifndef PF_LINUX_HUGETLB
#define PF_LINUX_HUGETLB 0x100000
#endif

/*
 * Page sizes in bytes. gethugepagesize returns the size that the other functions
 * use: HUGETLB_DEFAULT_PAGE_SIZE or the kernel's default; -1 with errno ENOSYS if
 * there is none. The other two store at most n_elem sizes and return their number;
 * with NULL and 0 they return the number of all sizes.
 */
long gethugepagesize(void);
int gethugepagesizes(long pagesizes[], int n_elem);
int getpagesizes(long pagesizes[], int n_elem);

/*
 * Mounts. test_path: 1 for a hugetlbfs, 0 for another file system, -1 with
 * errno. find_path: mount point of a hugetlbfs of that page size, or NULL.
 * unlinked_fd: descriptor of an unnamed file of that page size, or -1.
 */
int hugetlbfs_test_path(const char *mount);
const char *hugetlbfs_find_path(void);
const char *hugetlbfs_find_path_for_size(long page_size);
int hugetlbfs_unlinked_fd(void);
int hugetlbfs_unlinked_fd_for_size(long page_size);

/* Huge pages of the default size, or NULL; no fallback. */
typedef unsigned long ghp_t;

#define GHP_DEFAULT ((ghp_t)0x01UL)
#define GHP_MASK GHP_DEFAULT

void *get_huge_pages(size_t len, ghp_t flags);
void free_huge_pages(void *ptr);

/*
 * Memory of any length. GHR_FALLBACK: other pages if there are no huge pages.
 * GHR_COLOR: begins at another cache line each time, if the length leaves room.
 * GHR_STRICT: neither.
 */
typedef unsigned long ghr_t;

#define GHR_STRICT ((ghr_t)0x10000000UL)
#define GHR_FALLBACK ((ghr_t)0x20000000UL)
#define GHR_COLOR ((ghr_t)0x40000000UL)
#define GHR_DEFAULT (GHR_FALLBACK | GHR_COLOR)
#define GHR_MASK (GHR_STRICT | GHR_FALLBACK | GHR_COLOR)

void *get_hugepage_region(size_t len, ghr_t flags);
void free_hugepage_region(void *ptr);

/*
 * Moves private anonymous memory once, a huge page at a time, to the node of the
 * thread that touches it next. Returns 0, or -1 with errno: ENOTSUP on one node,
 * or without userfaultfd(2) in full (Linux 6.8); EINVAL for a range without
 * such memory. See huge_next_touch(3).
 */
int huge_next_touch(void *addr, size_t len);

#ifdef __cplusplus
}
#endif

#endif
