//! `kernel.shmmax` and `kernel.shmall`: `shmget` fails beyond them, whatever the pool has.

use hugetools_contract::env::Pages;
use hugetools_model::Bytes;
use hugetools_model::memory::sysctl;

use super::Check;
use crate::probe::kernel::USEFUL;
use crate::probe::kernel::shm_limits::{SHMALL, UNLIMITED};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Check<'_> {
    /// Names each limit that is below what the pool can serve. Only programs that call
    /// `shmget` meet it.
    pub(super) fn shm_limits(&mut self, pages: Pages) {
        let source = self.kernel.source(pages);
        let served = source.map_or(Bytes::default(), |source| source.available());
        let enough = served.max(USEFUL);
        let limits = &self.kernel.shm_limits;
        if let Some(largest) = limits.largest.filter(|largest| *largest < enough) {
            let file = sysctl::shmmax_path();
            let fact = format!("kernel.shmmax is {} bytes", largest.get());
            let then = "should the program use shmget, a larger segment fails (EINVAL)";
            let short = Shortfall::new(Subject::SHM, fact).then(then);
            let command = format!("sysctl kernel.shmmax={UNLIMITED}");
            self.hint(short.says(file, largest.get()).mend("to lift it", command));
        }
        if let Some(all) = limits.all.filter(|all| all.left < enough) {
            let fact = format!("kernel.shmall leaves {} for segments", all.left);
            let then = "should the program use shmget, a segment of more fails (ENOSPC)";
            let short = Shortfall::new(Subject::SHM, fact).then(then);
            let command = format!("sysctl kernel.shmall={UNLIMITED}");
            self.hint(short.says(SHMALL, all.pages).mend("to lift it", command));
        }
    }
}

#[cfg(test)]
mod tests {
    use hugetools_model::Bytes;

    use super::super::{Needs, check};
    use super::*;
    use crate::probe::kernel::shm_limits::{All, ShmLimits};
    use crate::probe::kernel::{Kernel, Wants};

    /// The facts, and the commands that mend them.
    fn said(largest: u64, left: u64) -> Vec<String> {
        let kernel = Kernel {
            shm_limits: ShmLimits {
                largest: Some(Bytes::new(largest)),
                all: Some(All {
                    pages: left / 4096,
                    left: Bytes::new(left),
                }),
            },
            ..Kernel::default()
        };
        let wants = Wants {
            shm: Some(Pages::Default),
            ..Wants::default()
        };
        let notes = check(wants, Needs::default(), &kernel).notes.into_iter();
        let shorts = notes.filter_map(|note| note.shortfall);
        let shorts = shorts.filter(|short| short.fact.starts_with("kernel."));
        shorts
            .map(|short| format!("{} {}", short.fact, short.command().unwrap()))
            .collect()
    }

    #[test]
    fn limits_of_segments_fall_short_before_the_pool_does() {
        assert!(said(UNLIMITED, UNLIMITED).is_empty());
        let both = said(3_000_000, 4 << 20);
        assert_eq!(
            both,
            [
                format!("kernel.shmmax is 3000000 bytes sysctl kernel.shmmax={UNLIMITED}"),
                format!("kernel.shmall leaves 4MB for segments sysctl kernel.shmall={UNLIMITED}"),
            ]
        );
    }
}
