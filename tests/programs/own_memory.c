/* Memory past malloc, as virtual machines have it.

   own_memory map|give|malloc
   maps 100 MB and fills them; gives them back as well; or has them from malloc,
   and frees them. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LEN ((size_t)100 << 20)

int main(int argc, char **argv)
{
	char *memory, *small;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "malloc")) {
		memory = malloc(LEN);
		if (!memory)
			return 1;
		memset(memory, 1, LEN);
		free(memory);
		return 0;
	}
	small = malloc(100000);
	if (!small)
		return 1;
	memset(small, 1, 100000);
	memory = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 1, LEN);
	return !strcmp(argv[1], "give") && munmap(memory, LEN);
}
