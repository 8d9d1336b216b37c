//! The place of a launch in the ledger of messages: [`hugetools_contract::ledger`].

use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use hugetools_contract::ledger::{KEY_BITS, Place};

use crate::apply::private_dir;
use crate::caller::Caller;
use crate::caller::filter::Answer;
use crate::files::places::places;

/// The directory below hugectl's own, and the file in it.
const DIR: &str = "ledger";
const NAME: &str = "launches";

/// Returns this launch's place, with the kinds of messages that hugectl has printed. Returns `None`
/// without a directory, or if a seccomp filter kills callers of ftruncate(2), such as the library.
/// Without a place, processes may repeat or omit messages.
pub(super) fn place(caller: &Caller, printed: u64) -> Option<Place> {
    if caller.filter.truncate == Answer::Kills {
        return None;
    }
    places(caller).iter().find_map(|place| {
        let path = private_dir::open(place, DIR, caller.euid).ok()?.join(NAME);
        Place::new(key(caller), printed, path.as_os_str().as_bytes())
    })
}

/// Returns a key that is unlikely to repeat: the process ID (below 2^22), and the microseconds of
/// the second modulo 2^18.
fn key(caller: &Caller) -> u64 {
    const TIME_BITS: u32 = KEY_BITS - 22;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::from(now.subsec_micros()));
    (u64::from(caller.pid) << TIME_BITS) | (now % (1 << TIME_BITS))
}
