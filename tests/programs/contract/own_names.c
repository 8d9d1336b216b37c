/* A library of the program's has functions of its own by names that only GNU's libc has:
   they get their arguments as they are passed, and their answers come back whole. */
#ifdef LIBRARY
#include <stdlib.h>

struct node {
	struct node *next;
	int value;
};

struct node *splice(struct node *to, struct node *more);
int clone(struct node *to, const struct node *from);
int sum(void);

struct node *splice(struct node *to, struct node *more)
{
	struct node *last = to;

	while (last->next)
		last = last->next;
	last->next = more;
	return to;
}

int clone(struct node *to, const struct node *from)
{
	*to = *from;
	return 3;
}

int sum(void)
{
	struct node *one = calloc(1, sizeof *one), *two = calloc(1, sizeof *two), copy;
	int is_done;

	one->value = 10;
	two->value = 200;
	one = splice(one, two);
	is_done = clone(&copy, one->next);
	return one->value + one->next->value + copy.value + is_done;
}
#else
#include "contract.h"

int sum(void);

int main(void)
{
	CHECK(sum() == 413);
	right();
}
#endif
