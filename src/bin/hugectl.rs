//! See hugectl(8).

fn main() {}
