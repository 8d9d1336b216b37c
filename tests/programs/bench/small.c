/* Small objects: a hash table of entries with a name is filled, searched, half emptied and
   filled again.

   small MIB: approximate total */
#include "bench.h"

struct entry {
	struct entry *next;
	char *name;
	uint64_t key, value;
};

static struct entry **bucket;
static size_t buckets;

static struct entry **find(uint64_t key)
{
	struct entry **at = &bucket[key * 0x9e3779b97f4a7c15u >> 20 & (buckets - 1)];

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

static void insert(uint64_t key)
{
	struct entry **at = find(key), *e;

	if (*at)
		return;
	e = need(malloc(sizeof *e));
	e->name = need(malloc(8 + key % 56));
	memset(e->name, (int)key, 8 + key % 56);
	e->key = key, e->value = ~key, e->next = NULL;
	*at = e;
}

static void take_out(uint64_t key)
{
	struct entry **at = find(key), *e = *at;

	if (!e)
		return;
	if (e->name[7] != (char)key)
		damaged("name", key);
	*at = e->next;
	free(e->name);
	free(e);
}

int main(int argc, char **argv)
{
	size_t entries = bytes_of(argc, argv) / 104, i; /* 32 + 36 + headers + index */
	uint64_t sum = 0;

	for (buckets = 1; buckets < entries; buckets *= 2)
		;
	bucket = need(calloc(buckets, sizeof *bucket));
	for (i = 0; i < entries; i++)
		insert(i);
	for (i = 0; i < entries; i++)
		sum += (*find(below(entries)))->value;
	for (i = 0; i < entries; i += 2)
		take_out(i);
	for (i = 0; i < entries; i += 2)
		insert(i);
	for (i = 0; i < entries; i++)
		sum += (*find(below(entries)))->value;
	for (i = 0; i < entries; i++)
		take_out(i);
	printf("%016lx\n", (unsigned long)sum);
	return 0;
}
