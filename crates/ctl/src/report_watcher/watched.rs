//! A process that is watched, from its first image to its end.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hugetools_contract::report::{Ended, Life, Met, Origin, Peak, Proof};
use hugetools_contract::watch::Slot;
use hugetools_model::Root;

use super::ending;
use super::look::{self, Look, Stat, wall_clock};
use super::output::Output;
use crate::sys::shared::Shared;

/// The shortest and the longest time between two looks.
const OFTEN: Duration = Duration::from_millis(4);
const SELDOM: Duration = Duration::from_secs(1);

/// How long it may go unnoticed that a process is another program, or that there
/// is another process.
const SCAN: Duration = Duration::from_millis(100);

/// What looks may take of the time: one part of so many; and while the process
/// grows.
const SHARE: u32 = 200;
const SHARE_GROWING: u32 = 100;

/// Who tells of those that a process leaves running which its library would find:
/// its children, and those whose environment names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Teller {
    /// Its library has, or it was killed: then its children may be ending, too.
    Library,
    /// It has ended past its library, as `daemon(3)` has a process end.
    Watcher,
}

/// A process that is watched.
#[derive(Debug)]
pub(super) struct Watched {
    pid: u32,
    process: Option<OwnedFd>,
    /// When it was noticed, from when on it is looked at, and when it is next: at the
    /// soonest, should it have grown.
    since: Instant,
    first: Instant,
    due: Instant,
    soonest: Instant,
    /// The last look at the image that it is now, and the most that was seen of it.
    last: Option<Look>,
    peak: Peak,
    /// What its slot said at that time: how many images had the library, and how
    /// many reports were made.
    images: u32,
    tellings: u32,
    forked: bool,
    /// Whether it is none of those that report: what a child has executed that
    /// has not our library.
    is_stranger: bool,
    /// How many processes had been ended for want of memory at the last look but
    /// one, and at the last: this one may have been among them already.
    ended_by_kernel: Option<[Option<u64>; 2]>,
}

impl Watched {
    /// A process, and the descriptor that stands for it while it runs. Most of those that a
    /// program starts have ended, and have told it, before a look at them were worth what it
    /// takes of the machine; and what has just begun is being loaded.
    pub(super) fn new(pid: u32, process: Option<OwnedFd>) -> Watched {
        let now = Instant::now();
        let first = now + OFTEN;
        Watched {
            pid,
            process,
            since: now,
            first,
            due: first,
            soonest: first,
            last: None,
            peak: Peak::default(),
            images: 0,
            tellings: 0,
            forked: false,
            is_stranger: false,
            ended_by_kernel: None,
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn file(&self) -> Option<&OwnedFd> {
        self.process.as_ref()
    }

    /// Whether it is time for a look, or it has changed much since the last one.
    pub(super) fn is_due(&self, root: &Root, shared: Shared) -> bool {
        if Instant::now() < self.first {
            return false;
        }
        if self.process.is_none() || self.waits() == Duration::ZERO {
            return self.process.is_some();
        }
        let images = self.counted(shared).unwrap_or(self.images);
        images != self.images || Instant::now() >= self.soonest && self.has_changed(root)
    }

    /// Whether it has more in memory than at the last look, or less, by an eighth.
    fn has_changed(&self, root: &Root) -> bool {
        let Some((last, now)) = self.last.as_ref().zip(Stat::read(root, self.pid)) else {
            return false;
        };
        let resident = || look::resident(root, self.pid);
        let differs = |now: u64| now.abs_diff(last.resident) > last.resident / 8;
        !last.stat.has_same_memory(&now) && resident().is_some_and(differs)
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
        let begin = look::own_time();
        if self.is_true_still(root, shared) || self.look_anew(root, shared, output) {
            output.follow(root, self.pid);
            let now = ending::count(root);
            let last = self.ended_by_kernel.map_or(now, |counts| counts[1]);
            self.ended_by_kernel = Some([last, now]);
        }
        let now = Instant::now();
        let wait = ((now - self.since) / 4).clamp(OFTEN, SELDOM);
        let cost = look::own_time().saturating_sub(begin);
        self.due = now + wait.max(cost * SHARE);
        self.soonest = now + OFTEN.max(cost * SHARE_GROWING);
    }

    /// Whether the last look is as good as a new one.
    fn is_true_still(&mut self, root: &Root, shared: Shared) -> bool {
        let is_same_image = self.counted(shared) == Some(self.images);
        let now = Stat::read(root, self.pid).filter(|_| is_same_image);
        let last = self.last.as_mut().zip(now);
        last.is_some_and(|(last, now)| last.is_true_still(&now))
    }

    /// How many images with the library there were.
    fn counted(&self, shared: Shared) -> Option<u32> {
        let (_, slot) = self.slot(shared)?;
        Some(slot.image.load(Ordering::Acquire))
    }

    /// Looks at its memory; whether it could be seen.
    fn look_anew(&mut self, root: &Root, shared: Shared, output: &mut Output) -> bool {
        let Some(look) = self.take_look(root, shared) else {
            return false;
        };
        self.leave_image(&look, shared, output);
        if let Some((_, slot)) = self.slot(shared) {
            self.peak = self.peak.with(&look.peak);
            slot.set_peak(&self.peak);
            self.images = slot.image.load(Ordering::Acquire);
            self.tellings = slot.tellings();
            self.forked = slot.forked.load(Ordering::Acquire) != 0;
        }
        self.last = Some(look);
        true
    }

    /// Tells of the image that it has left since the last look, if it has.
    fn leave_image(&mut self, now: &Look, shared: Shared, output: &mut Output) {
        let is_same = |last: &Look| last.stat.is_same_image(&now.stat);
        if self.last.is_none() && !now.snapshot.is_attached() {
            // Of an image that nobody has seen. This one, of another user perhaps, does not
            // reach the text.
            self.take_text(shared, output);
        }
        if self.last.as_ref().is_none_or(is_same) {
            return;
        }
        let Some((_, slot)) = self.slot(shared) else {
            return;
        };
        self.take_text(shared, output);
        let was_forked = self.forked || self.is_stranger;
        if !was_forked && self.is_untold(slot, now.snapshot.is_attached()) {
            self.tell(Ended::Exec, slot, shared, output);
        }
        self.is_stranger = was_forked && slot.image.load(Ordering::Acquire) == self.images;
        self.peak = Peak::default();
    }

    /// Whether nobody has told of the image that was seen last. All that had the
    /// library have been told of, or the one that has it `still`, but for this one.
    fn is_untold(&self, slot: &Slot, still: bool) -> bool {
        let was_attached = self
            .last
            .as_ref()
            .is_some_and(|last| last.snapshot.is_attached());
        let images = slot.image.load(Ordering::Acquire).wrapping_sub(self.images);
        let ended = (images + u32::from(was_attached)).saturating_sub(u32::from(still));
        slot.tellings().wrapping_sub(self.tellings) < ended.max(1)
    }

    /// Writes what an image has left for whoever comes after it, if it has. Whether
    /// there is nothing after it.
    fn take_text(&self, shared: Shared, output: &mut Output) -> Option<bool> {
        let (index, slot) = self.slot(shared)?;
        let (len, is_final) = slot.take_text()?;
        output.write(&shared.text(index, len));
        Some(is_final)
    }

    /// A look between whose begin and end no library came: else it may show none where
    /// the slot counts one.
    fn take_look(&self, root: &Root, shared: Shared) -> Option<Look> {
        /// A process that executes one program after the other is looked at all the same.
        const TRIES: usize = 4;
        let images = || self.counted(shared);
        let mut look = None;
        for _ in 0..TRIES {
            let before = images();
            look = Look::take(root, self.pid, self.last.as_ref());
            if images() == before {
                break;
            }
        }
        look
    }

    /// Tells of its end, unless its library has. Who has to tell of what it leaves
    /// running.
    pub(super) fn end(&mut self, root: &Root, shared: Shared, output: &mut Output) -> Teller {
        let Some((_, slot)) = self.slot(shared) else {
            return Teller::Library;
        };
        // What comes after an image that has left a text was never seen.
        let is_gone = self.take_text(shared, output) == Some(false);
        if self.last.is_none() && !is_gone && slot.is_told() {
            // As most end.
            slot.clear();
            return Teller::Library;
        }
        let before = self.ended_by_kernel.and_then(|counts| counts[0]);
        let ended = ending::find(root, self.pid, self.file(), before);
        let is_another = is_gone || slot.image.load(Ordering::Acquire) > self.images;
        let was_seen = self
            .last
            .as_ref()
            .is_some_and(|last| last.snapshot.is_attached());
        // What was told is of an image before this one, whose library did not reach us, or
        // that has none.
        let is_later = self.last.is_some() && !was_seen && !is_another;
        let is_told = slot.is_told() && !is_gone && !is_later;
        let still = !is_told && !is_gone;
        if is_another && was_seen && !self.forked && self.is_untold(slot, still) {
            self.tell(Ended::Exec, slot, shared, output);
        }
        if is_gone || is_another && was_seen {
            self.last = None;
            self.peak = Peak::default();
        }
        let is_on_its_way = self.last.is_none() && slot.forked.load(Ordering::Acquire) != 0;
        let is_killed = matches!(ended, Ended::Signal { .. });
        let is_apart = self.is_stranger || !is_another && self.is_unheard(&ended);
        let is_ours = !is_told && !is_apart && (is_killed || !is_on_its_way);
        if is_ours {
            self.tell(ended, slot, shared, output);
        }
        slot.clear();
        match is_ours && !is_killed {
            true => Teller::Watcher,
            false => Teller::Library,
        }
    }

    /// Whether there is a library that could not reach us, and the process has ended
    /// by itself: that has reported.
    fn is_unheard(&self, ended: &Ended) -> bool {
        let has_library = |last: &Look| last.snapshot.has_library() && !last.snapshot.is_attached();
        matches!(ended, Ended::Exit(_) | Ended::Unknown)
            && self.last.as_ref().is_some_and(has_library)
    }

    fn tell(&self, ended: Ended, slot: &Slot, shared: Shared, output: &mut Output) {
        let end = wall_clock();
        let watched = look::boot() + shared.page().began.load(Ordering::Relaxed);
        let life = Life {
            ended,
            start: (self.last.as_ref()).map_or(end, |last| last.stat.start.max(watched)),
            end,
            seen: self.last.as_ref().map_or(end, |last| last.at),
            peak: self.peak,
        };
        let json = output.is_json();
        let required: Vec<Met> = slot.demands.get().collect();
        let text = match &self.last {
            Some(last) => last.snapshot.with_life(life, required).to_text(json),
            None => self.unseen(life, &required, json),
        };
        output.write(text.as_bytes());
    }

    /// The report of an image that was never seen.
    fn unseen(&self, life: Life, required: &[Met], json: bool) -> String {
        let proof = Proof {
            pid: self.pid,
            exe: b"?",
            name: b"?",
            origin: Origin::default(),
            rows: &[],
            required,
            warning: Some("it could not be looked at before it ended"),
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
