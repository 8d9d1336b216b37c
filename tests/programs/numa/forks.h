/* Memory on two nodes, inherited by children. */
#ifndef FORKS_H
#define FORKS_H
#include "policy.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static pthread_barrier_t all_here;

struct buf {
	int node;
	char *at;
};

enum { LEN = 24 * MB };

static void *fill_own(void *arg)
{
	struct buf *buf = arg;

	run_on(buf->node);
	buf->at = block(LEN);
	fill(buf->at, LEN, 10 + buf->node);
	pthread_barrier_wait(&all_here);
	pthread_barrier_wait(&all_here);
	return NULL;
}

/* Prints where all memory is, and checks it. */
static void review(const char *who, struct buf *bufs, char *bound, char *spread)
{
	char what[64];

	for (int n = 0; n < 2; n++) {
		snprintf(what, sizeof what, "%s thread %d", who, n);
		check(what, bufs[n].at, LEN, 10 + n);
		where(what, bufs[n].at, LEN);
	}
	snprintf(what, sizeof what, "%s bound", who);
	check(what, bound, LEN, 20);
	where(what, page_of(bound), LEN - 2 * PAGE);
	policy(what, page_of(bound));
	snprintf(what, sizeof what, "%s spread", who);
	check(what, spread, LEN, 21);
	where(what, page_of(spread), LEN - 2 * PAGE);
	policy(what, page_of(spread));
}

static void forks(void)
{
	struct buf bufs[2] = {{0, NULL}, {1, NULL}};
	pthread_t thread[2];
	char *bound, *spread;
	int status;
	pid_t pid;

	run_on(0);
	pthread_barrier_init(&all_here, NULL, 3);
	for (int n = 0; n < 2; n++)
		pthread_create(&thread[n], NULL, fill_own, &bufs[n]);
	pthread_barrier_wait(&all_here);
	bound = block(LEN);
	bind(page_of(bound), LEN - 2 * PAGE, BIND, &SECOND, 0);
	fill(bound, LEN, 20);
	spread = block(LEN);
	bind(page_of(spread), LEN - 2 * PAGE, INTERLEAVE, &BOTH, 0);
	fill(spread, LEN, 21);
	review("before", bufs, bound, spread);
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		review("child", bufs, bound, spread);
		fill(bound, LEN, 30);
		where("child wrote bound", page_of(bound), LEN - 2 * PAGE);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child");
	review("after", bufs, bound, spread);
	fill(bound, LEN, 20);
	where("after wrote bound", page_of(bound), LEN - 2 * PAGE);
	pthread_barrier_wait(&all_here);
	for (int n = 0; n < 2; n++)
		pthread_join(thread[n], NULL);
}

/* Makes set_mempolicy, mbind and move_pages kill the process, as a service's filter may. */
static void forbid_policies(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_set_mempolicy, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("seccomp");
}

static void filtered(void)
{
	char *at = block(LEN);
	int status;
	pid_t pid;

	run_on(0);
	fill(at, LEN, 40);
	run_on(1);
	forbid_policies();
	pid = fork();
	if (pid == 0) {
		check("child", at, LEN, 40);
		fill(at, LEN, 41);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		fail("the child");
	check("filtered", at, LEN, 40);
}

#endif
