//! See hugeadm(8).

fn main() {}
