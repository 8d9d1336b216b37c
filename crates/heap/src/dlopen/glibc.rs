//! Words of glibc's `<dlfcn.h>`: the libraries run under each libc, whichever they were
//! built for.

use core::ffi::{c_int, c_long};

/// The number of a namespace.
pub(crate) type Lmid = c_long;

/// The namespace of the program.
pub(crate) const LM_ID_BASE: Lmid = 0;

/// For `dlinfo(3)`: the namespace.
pub(crate) const RTLD_DI_LMID: c_int = 1;

/// For `dlinfo(3)`: the loader's entry.
pub(crate) const RTLD_DI_LINKMAP: c_int = 2;
