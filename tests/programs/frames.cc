/* Throws and catches an exception through frames in moved code, then loads a library.

   frames [abort]
   abort: aborts in the deepest frame, for a debugger. */
#include <dlfcn.h>
#include <stdexcept>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The frames lie between megabytes of unused code, so that they are moved with it. */
asm(".pushsection .text\nbefore: .fill 3 << 20, 1, 0\n.popsection\n"
	".pushsection .text.moved, \"ax\", @progbits\n.popsection\n"
	".pushsection .text.moved_last, \"ax\", @progbits\nbehind: .fill 3 << 20, 1, 0\n.popsection\n");
#define MOVED __attribute__((noinline, section(".text.moved")))

static bool aborts;

extern "C" MOVED int deepest(int n)
{
	if (aborts)
		abort();
	throw std::runtime_error(n == 42 ? "from the deepest frame" : "wrong");
}

struct Leaving {
	~Leaving() { puts("a frame was left"); }
};

extern "C" MOVED int deep(int n)
{
	Leaving leaving;
	return deepest(n * 2) + 1;
}

extern "C" MOVED int shallow(int n)
{
	Leaving leaving;
	return deep(n + 1) + 1;
}

int main(int argc, char **argv)
{
	aborts = argc > 1 && !strcmp(argv[1], "abort");
	try {
		printf("returned %d\n", shallow(20));
	} catch (const std::exception &caught) {
		printf("caught one %s\n", caught.what());
	}
	void *library = dlopen("libm.so.6", RTLD_NOW);
	auto cosine = (double (*)(double))dlsym(library, "cos");
	printf("cos(0) = %g\n", cosine(0));
	return 0;
}
