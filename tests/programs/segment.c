/* Creates a System V segment of huge pages with RLIMIT_MEMLOCK 0, so that only
 * vm.hugetlb_shm_group can allow it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], 0, 10) : 0;
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_MEMLOCK, &none);
    int id = shmget(IPC_PRIVATE, size, IPC_CREAT | SHM_HUGETLB | 0600);
    if (id < 0) {
        printf("refused: %s\n", strerror(errno));
        return 0;
    }
    char *memory = shmat(id, 0, 0);
    shmctl(id, IPC_RMID, 0);
    if (memory == (void *)-1) {
        printf("not attached: %s\n", strerror(errno));
        return 1;
    }
    memset(memory, 7, size);
    printf("made\n");
    return 0;
}
