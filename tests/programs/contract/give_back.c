/* Nine tenths of a heap are freed, then one small block is allocated now and
   then: within a few seconds most of its huge pages are given back. */
#include "contract.h"

int main(void)
{
	static char *block[2000];
	struct judged before, after;
	size_t i;
	int k;

	for (i = 0; i < 2000; i++)
		memset(block[i] = get(100000), 1, 100000);
	before = judge();
	for (i = 0; i < 2000; i++)
		if (i % 200 >= 20)
			free(block[i]);
	for (k = 0; k < 30; k++) {
		usleep(100000);
		memset(get(100), 1, 100);
		after = judge();
		if (after.resident * 2 <= before.resident)
			right();
	}
	fail("%lu of %lu kB are still taken, %lu of them of the pool", after.resident, before.resident, after.hugetlb);
}
