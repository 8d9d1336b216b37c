/* Touches twenty of its twenty-four megabytes of bss. */
static volatile char bss[24 << 20];

int main(void)
{
	for (unsigned i = 0; i < 20 << 20; i += 4096)
		bss[i] = 1;
	return 0;
}
