/* A program that has the library only by way of another one. */
#include <stdio.h>

int agrees(void);

int main(void)
{
	puts(agrees() ? "ok" : "wrong");
	return 0;
}
