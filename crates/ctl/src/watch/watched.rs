//! A process that is watched, from its first image to its end.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hugetools_contract::report::{Ended, Life, Peak, Proof};
use hugetools_contract::watch::Slot;
use hugetools_model::Root;

use super::ending;
use super::look::{Look, Stat, wall_clock};
use super::output::Output;
use crate::sys::shared::Shared;

/// The shortest and the longest time between two looks.
const OFTEN: Duration = Duration::from_millis(4);
const SELDOM: Duration = Duration::from_secs(1);

/// How long it may go unnoticed that a process is another program, or that there
/// is another process.
const SCAN: Duration = Duration::from_millis(100);

/// What looks may take of the time: one part of so many.
const SHARE: u32 = 100;

/// A process that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    pid: u32,
    process: Option<OwnedFd>,
    /// When it was noticed, and when it is looked at next.
    since: Instant,
    due: Instant,
    /// The last look at the image that it is now.
    last: Option<Look>,
    /// What its slot said at that time.
    told: u32,
    image: u32,
    forked: bool,
    /// Whether it is none of those that report: what a child has executed that
    /// has not our library.
    is_stranger: bool,
    /// How many processes had been ended for want of memory.
    ended_by_kernel: u64,
}

impl Watched {
    /// A process, and the descriptor that stands for it while it runs.
    pub(super) fn new(pid: u32, process: Option<OwnedFd>) -> Watched {
        let now = Instant::now();
        Watched {
            pid,
            process,
            since: now,
            due: now,
            last: None,
            told: 0,
            image: 0,
            forked: false,
            is_stranger: false,
            ended_by_kernel: u64::MAX,
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn file(&self) -> Option<&OwnedFd> {
        self.process.as_ref()
    }

    /// Whether it is time for a look, or it is another program now.
    pub(super) fn is_due(&self, shared: Shared) -> bool {
        let image = self
            .slot(shared)
            .map(|(_, slot)| slot.image.load(Ordering::Acquire));
        let is_new = || self.last.is_some() && image.is_some_and(|image| image != self.image);
        self.process.is_some() && (self.waits() == Duration::ZERO || is_new())
    }

    /// How long it has until then.
    fn waits(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// How long it may be left alone.
    pub(super) fn patience(&self) -> Duration {
        let age = self.since.elapsed();
        self.waits().min((age / 8).clamp(OFTEN, SCAN))
    }

    /// Looks at it.
    pub(super) fn look(&mut self, root: &Root, shared: Shared, output: &mut Output) {
        let begin = Instant::now();
        if let Some(look) = Look::take(root, self.pid) {
            self.leave_image(&look.stat, shared, output);
            if let Some((_, slot)) = self.slot(shared) {
                slot.set_peak(&slot.peak().with(&look.peak));
                self.told = slot.told.load(Ordering::Acquire);
                self.image = slot.image.load(Ordering::Acquire);
                self.forked = slot.forked.load(Ordering::Acquire) != 0;
            }
            self.last = Some(look);
            output.follow(root, self.pid);
            self.ended_by_kernel = ending::count(root);
        }
        let now = Instant::now();
        let wait = ((now - self.since) / 4).clamp(OFTEN, SELDOM);
        self.due = now + wait.max((now - begin) * SHARE);
    }

    /// Tells of the image that it has left since the last look, if it has.
    fn leave_image(&mut self, now: &Stat, shared: Shared, output: &mut Output) {
        let is_same = |last: &Look| last.stat.is_same_image(now);
        if self.last.as_ref().is_none_or(is_same) || self.take_text(shared, output) {
            return;
        }
        let Some((_, slot)) = self.slot(shared) else {
            return;
        };
        let was_forked = self.forked || self.is_stranger;
        if !was_forked && slot.told.load(Ordering::Acquire) == self.told {
            self.tell(Ended::Exec, shared, output);
        }
        self.is_stranger = was_forked && slot.image.load(Ordering::Acquire) == self.image;
        slot.set_peak(&Peak::default());
    }

    /// Writes what an image has left for whoever comes after it, if it has.
    fn take_text(&self, shared: Shared, output: &mut Output) -> bool {
        let Some((index, slot)) = self.slot(shared) else {
            return false;
        };
        let len = slot.text.swap(0, Ordering::AcqRel) as usize;
        if len == 0 {
            return false;
        }
        output.write(&shared.text(index, len));
        let image = slot.image.load(Ordering::Acquire);
        slot.told.store(image, Ordering::Release);
        true
    }

    /// Tells of its end, unless its library has.
    pub(super) fn end(&mut self, root: &Root, shared: Shared, output: &mut Output) {
        let ended = ending::find(root, self.pid, self.file(), self.ended_by_kernel);
        if let Some((_, slot)) = self.slot(shared) {
            let is_told = self.has_told(slot);
            let has_left = self.take_text(shared, output);
            // Of what came after a look that is told, nothing was seen.
            if has_left || slot.told.load(Ordering::Acquire) > self.told {
                self.last = None;
            }
            let is_on_its_way = self.last.is_none() && slot.forked.load(Ordering::Acquire) != 0;
            let is_killed = matches!(ended, Ended::Signal { .. });
            if !is_told && !self.is_apart(&ended, slot) && (is_killed || !is_on_its_way) {
                self.tell(ended, shared, output);
            }
            slot.clear();
        }
    }

    /// Whether the library has told of the last image.
    fn has_told(&self, slot: &Slot) -> bool {
        let told = slot.told.load(Ordering::Acquire);
        told > self.told && slot.is_told(slot.image.load(Ordering::Acquire))
    }

    /// Whether nothing is to be told: of a stranger, or where there is a library
    /// which could not reach us, and the process has ended by itself.
    fn is_apart(&self, ended: &Ended, slot: &Slot) -> bool {
        let is_unheard = slot.image.load(Ordering::Acquire) == self.told;
        let by_itself = matches!(ended, Ended::Exit(_) | Ended::Unknown);
        let has_library = |last: &Look| last.snapshot.has_library();
        self.is_stranger || is_unheard && by_itself && self.last.as_ref().is_some_and(has_library)
    }

    fn tell(&self, ended: Ended, shared: Shared, output: &mut Output) {
        let end = wall_clock();
        let peak = self.slot(shared).map(|(_, slot)| slot.peak());
        let life = Life {
            ended,
            start: self.last.as_ref().map_or(end, |last| last.stat.start),
            end,
            seen: self.last.as_ref().map_or(end, |last| last.at),
            peak: peak.unwrap_or_default(),
        };
        let json = output.is_json();
        let text = match &self.last {
            Some(last) => last.snapshot.with_life(life).to_text(json),
            None => self.unseen(life, json),
        };
        output.write(text.as_bytes());
    }

    /// The report of an image that was never seen.
    fn unseen(&self, life: Life, json: bool) -> String {
        let proof = Proof {
            pid: self.pid,
            exe: b"?",
            name: b"?",
            rows: &[],
            warning: Some("it ended before it could be looked at"),
            life: Some(life),
        };
        let mut text = String::new();
        let written = match json {
            true => proof.write_json(&mut text),
            false => proof.write_table(&mut text),
        };
        debug_assert!(written.is_ok(), "a String takes everything");
        text
    }

    fn slot<'s>(&self, shared: Shared) -> Option<(usize, &'s Slot)> {
        let page = shared.page();
        let index = page.find(self.pid)?;
        page.slots.get(index).map(|slot| (index, slot))
    }
}
