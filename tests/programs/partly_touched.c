/* Touches parts of a file and a memfd, and reads all of an anonymous mapping. Prints the Rss of file
   and memfd in bytes.

   partly_touched FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile char sink;

static void touch(char *at, long from, long to, int writes) {
    for (long page = from; page < to; page++) {
        if (writes)
            at[page * 4096] = 1;
        else
            sink = at[page * 4096];
    }
}

int main(int count, char **words) {
    if (count != 2)
        return 2;
    int file = open(words[1], O_RDWR | O_CREAT, 0600);
    int shared = memfd_create("plain", 0);
    if (file < 0 || ftruncate(file, 64 * 4096) || shared < 0 || ftruncate(shared, 64 * 4096))
        return 3;
    int both = PROT_READ | PROT_WRITE;
    char *copy = mmap(NULL, 64 * 4096, both, MAP_PRIVATE, file, 0);
    char *view = mmap(NULL, 64 * 4096, both, MAP_SHARED, shared, 0);
    char *shared_file = mmap(NULL, 64 * 4096, both, MAP_SHARED, file, 0);
    if (copy == MAP_FAILED || view == MAP_FAILED || shared_file == MAP_FAILED)
        return 4;
    touch(copy, 0, 7, 1);
    touch(copy, 30, 33, 0);
    mprotect(copy + 5 * 4096, 4096, PROT_READ);
    touch(view, 10, 31, 1);
    touch(shared_file, 60, 64, 0);
    /* A read maps the zero page, which Rss doesn't include. */
    char *anonymous = mmap(NULL, 64 * 4096, both, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    touch(anonymous, 0, 64, 0);

    FILE *smaps = fopen("/proc/self/smaps", "r");
    char line[4096], name[4096] = "";
    long kib, of_file = 0, of_memory = 0;
    while (smaps && fgets(line, sizeof line, smaps)) {
        if (line[0] >= 'a' || (line[0] >= '0' && line[0] <= '9'))
            strcpy(name, line);
        else if (sscanf(line, "Rss: %ld", &kib) == 1) {
            of_file += strstr(name, words[1]) ? kib : 0;
            of_memory += strstr(name, "memfd:plain") ? kib : 0;
        }
    }
    printf("%ld %ld\n", of_file * 1024, of_memory * 1024);
    return 0;
}
