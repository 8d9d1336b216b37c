//! What an ELF file says about how it can be started.
