//! Recognises programs on a command line: wrappers, starters that drop the environment, and
//! programs whose memory does not come from malloc.

pub(crate) mod known_programs;
pub(crate) mod size_hint;
pub(crate) mod starters;
pub(crate) mod wrappers;
