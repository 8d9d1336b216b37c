/* Executes a program under a seccomp filter for mremap, or for -DCALL=SYS_name. The call returns
   EPERM or -DREFUSAL=error; with -DENDS it kills the process. -DTHIRD=N: only if that is the call's
   third argument.

   no_mremap COMMAND... */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef ENDS
#define RESULT SECCOMP_RET_KILL_PROCESS
#else
#ifndef REFUSAL
#define REFUSAL EPERM
#endif
#define RESULT (SECCOMP_RET_ERRNO | REFUSAL)
#endif

#ifndef CALL
#define CALL SYS_mremap
#endif

int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef THIRD
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIRD, 0, 1),
#else
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALL, 0, 1),
#endif
		BPF_STMT(BPF_RET | BPF_K, RESULT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("no_mremap");
		return 1;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
