/* Seccomp filters, as in linux/filter.h, which musl-gcc doesn't find. */
struct filter {
	unsigned short code;
	unsigned char on, off;
	unsigned k;
};
struct filters {
	unsigned short count;
	struct filter *filter;
};

/* Two steps of a filter. */
#define ALLOW(call) {0x15, 0, 1, SYS_##call}, {0x06, 0, 0, 0x7fff0000}
