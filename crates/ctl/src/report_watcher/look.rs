//! A look at a process: what it has, and which of its images that is.

use std::time::{Duration, Instant};

use hugetools_contract::report::Peak;
use hugetools_model::process::{self, Pid};
use hugetools_model::{KPath, Root, keyed};
use nix::time::{ClockId, clock_gettime};

use crate::status::Snapshot;

/// A process as it was seen.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) snapshot: Snapshot,
    pub(super) stat: Stat,
    /// When, in milliseconds since 1970.
    pub(super) at: u64,
    pub(super) peak: Peak,
    /// What [`resident`] said before.
    pub(super) resident: u64,
    /// When all was looked up that goes with its memory, and what was resident then.
    whole: (Instant, u64),
}

/// So long a look may stand, or a part of it, while nothing speaks against it.
const STANDS: Duration = Duration::from_secs(1);

impl Look {
    /// Looks; `None` where it may not be seen, has ended, or becomes another
    /// program just now. `last` is the look before, if there was one.
    pub(super) fn take(root: &Root, pid: u32, last: Option<&Look>) -> Option<Look> {
        let stat = Stat::read(root, pid)?;
        let resident = resident(root, pid)?;
        let last = last.filter(|last| last.may_serve(&stat, resident));
        let (snapshot, whole) = match last.map(|last| (last.snapshot.again(root), last.whole)) {
            Some((again, whole)) => match again.ok()? {
                (snapshot, false) => (snapshot, whole),
                (snapshot, true) => (snapshot, (Instant::now(), resident)),
            },
            None => {
                let snapshot = Snapshot::take(root, Pid::new(pid)?).ok()?;
                (snapshot, (Instant::now(), resident))
            }
        };
        let at = wall_clock();
        let now = Stat::read(root, pid)?;
        // A program that is being loaded has no stack yet, or no library.
        let is_loaded = now.image[0] != 0 && !snapshot.is_being_loaded();
        let is_whole = now.status.is_none() && is_loaded && now.is_same_image(&stat);
        is_whole.then(|| Look {
            peak: snapshot.peak(at),
            snapshot,
            stat,
            at,
            resident,
            whole,
        })
    }

    /// Whether what goes with the memory is the same still: not for long, nor where a pool
    /// may have been used up since.
    fn may_serve(&self, now: &Stat, resident: u64) -> bool {
        let (when, then) = self.whole;
        let is_fresh = when.elapsed() < STANDS && self.stat.is_same_image(now);
        is_fresh && (!self.snapshot.asks_pools() || resident.abs_diff(then) <= then / 8)
    }

    /// Whether it shows what is there now: then it was taken now. The kernel counts by the
    /// way what a process gets or gives back.
    pub(super) fn is_true_still(&mut self, now: &Stat) -> bool {
        let is_same = now.status.is_none() && now.image == self.stat.image;
        let is_true = is_same && now.has_same_memory(&self.stat) && self.whole.0.elapsed() < STANDS;
        if is_true {
            self.at = wall_clock();
        }
        is_true
    }
}

/// What a process has in memory, in kilobytes, as the kernel counts by the way.
pub(super) fn resident(root: &Root, pid: u32) -> Option<u64> {
    let text = root
        .read(&KPath::from("/proc").join(pid).join("status"))
        .ok()?;
    let kib = |name| keyed::number(&text, name);
    let (own, pool) = (kib(b"VmRSS:"), kib(b"HugetlbPages:"));
    own.or(pool).map(|_| own.unwrap_or(0) + pool.unwrap_or(0))
}

/// How long this process has run on processors.
pub(crate) fn own_time() -> Duration {
    Duration::from_nanos(nanoseconds(ClockId::CLOCK_PROCESS_CPUTIME_ID))
}

/// What `/proc/<pid>/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// When it was started, in milliseconds since 1970.
    pub(super) start: u64,
    /// Where its stack and its data are: other places for each program that it
    /// executes.
    image: [u64; 2],
    /// How many pages it was given, how large it is, and how much of it is resident,
    /// hugetlb pages apart.
    memory: [u64; 4],
    /// Its status, as `wait(2)` has it: of one that has ended.
    pub(crate) status: Option<i32>,
}

impl Stat {
    /// Reads it; `None` where there is no such process.
    pub(crate) fn read(root: &Root, pid: u32) -> Option<Stat> {
        let text = root
            .read(&KPath::from("/proc").join(pid).join("stat"))
            .ok()?;
        Stat::parse(&text, boot())
    }

    /// `boot` is when the machine was started.
    fn parse(text: &[u8], boot: u64) -> Option<Stat> {
        /// The milliseconds in which the kernel counts the time of a start.
        const TICK: u64 = 10;
        let stat = process::Stat::parse(text)?;
        Some(Stat {
            start: boot.saturating_add(stat.start()?.saturating_mul(TICK)),
            image: [stat.number(28)?, stat.number(45)?],
            memory: [10, 12, 23, 24].map(|number| stat.number(number).unwrap_or(0)),
            status: match stat.is_over()? {
                true => stat
                    .number(52)
                    .and_then(|status| i32::try_from(status).ok()),
                false => None,
            },
        })
    }

    /// Whether it has what it had, as far as the kernel counts it by the way.
    pub(super) fn has_same_memory(&self, other: &Stat) -> bool {
        self.memory == other.memory
    }

    /// Whether it still is the same program: one that has ended is.
    pub(crate) fn is_same_image(&self, other: &Stat) -> bool {
        self.image == other.image || self.status.is_some() || other.status.is_some()
    }
}

/// Milliseconds since 1970.
pub(super) fn wall_clock() -> u64 {
    clock(ClockId::CLOCK_REALTIME)
}

/// Milliseconds since the machine was started.
pub(super) fn since_boot() -> u64 {
    clock(ClockId::CLOCK_BOOTTIME)
}

/// When the machine was started, in milliseconds since 1970.
pub(super) fn boot() -> u64 {
    wall_clock().saturating_sub(since_boot())
}

fn clock(id: ClockId) -> u64 {
    nanoseconds(id) / 1_000_000
}

fn nanoseconds(id: ClockId) -> u64 {
    let Ok(time) = clock_gettime(id) else {
        return 0;
    };
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec()) * 1_000_000_000 + part(time.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(state: &str, stack: u64, status: i32) -> Vec<u8> {
        let mut fields = vec!["0".to_owned(); 50];
        fields[0] = state.to_owned();
        fields[22 - 3] = "150".to_owned();
        fields[28 - 3] = stack.to_string();
        fields[52 - 3] = status.to_string();
        format!("7 (a) b (c) {}\n", fields.join(" ")).into_bytes()
    }

    #[test]
    fn a_process_and_its_images() {
        let parse = |text: &[u8]| Stat::parse(text, 1000).unwrap();
        let one = parse(&stat("S", 4096, 0));
        assert_eq!((one.start, one.status), (2500, None));
        assert!(one.is_same_image(&parse(&stat("R", 4096, 0))));
        assert!(!one.is_same_image(&parse(&stat("R", 8192, 0))));
        assert!(one.has_same_memory(&parse(&stat("R", 8192, 0))));
        let more = String::from_utf8(stat("S", 4096, 0)).unwrap();
        let more = more.replacen(" 0 0 0 0 0 0 0 ", " 0 0 0 0 0 0 1 ", 1);
        assert!(!one.has_same_memory(&parse(more.as_bytes())));
        let over = parse(&stat("Z", 0, 9));
        assert_eq!(over.status, Some(9));
        assert!(one.is_same_image(&over));
        assert_eq!(Stat::parse(b"7 (a) S 1 2", 0), None);
        assert_eq!(Stat::parse(b"", 0), None);
    }
}
