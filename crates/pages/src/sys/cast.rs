//! Bit-preserving casts for system calls, for 64-bit machines only.

use core::ffi::{c_int, c_long};

/// An `int` as an unsigned one.
pub const fn unsigned(value: c_int) -> u32 {
    u32::from_ne_bytes(value.to_ne_bytes())
}

/// An unsigned `int` as a signed one.
pub const fn signed(value: u32) -> c_int {
    c_int::from_ne_bytes(value.to_ne_bytes())
}

/// A `long` as an address or a length.
pub const fn word(value: c_long) -> usize {
    usize::from_ne_bytes(value.to_ne_bytes())
}

/// An address or a length as a `long`.
pub const fn long(value: usize) -> c_long {
    c_long::from_ne_bytes(value.to_ne_bytes())
}

/// An `int` argument, sign extended as the kernel expects it.
pub const fn extended(value: c_int) -> usize {
    word(value as c_long)
}

/// The low half of a result that is an `int`.
pub const fn int(value: usize) -> c_int {
    let bytes = value.to_le_bytes();
    c_int::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
