//! A word that another process reads, too, in memory that both have: where it is noted
//! what this process can say no more once it is killed.
#![expect(unsafe_code, reason = "refers to memory that is mapped later")]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Has notes go to this word, or nowhere.
pub fn set(word: Option<&'static AtomicU32>) {
    let at = word.map_or(ptr::null(), ptr::from_ref);
    WORD.store(at.cast_mut(), Ordering::Release);
}

/// Sets a bit of it.
pub(crate) fn note(bit: u32) {
    // SAFETY: null, or what was a reference for ever.
    if let Some(word) = unsafe { WORD.load(Ordering::Acquire).as_ref() } {
        word.fetch_or(bit, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_go_to_the_word_that_is_set() {
        static WORD: AtomicU32 = AtomicU32::new(0);
        note(1);
        set(Some(&WORD));
        note(2);
        set(None);
        note(4);
        assert_eq!(WORD.load(Ordering::Relaxed), 2);
    }
}
