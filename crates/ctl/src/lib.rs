//! hugectl, from arguments to the program it starts.
