/* on_node NODE COMMAND...: executes a program bound to the memory of one node, as numactl does. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned long nodes = 1UL << (argc > 1 ? atoi(argv[1]) : 0);
    const int bind = 2;
    if (argc < 3 || syscall(SYS_set_mempolicy, bind, &nodes, 8 * sizeof nodes)) {
        perror("on_node");
        return 125;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
