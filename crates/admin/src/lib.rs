//! hugeadm, from arguments to report.
